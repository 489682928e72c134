/** Completion indexes as Kubernetes writes them: `1,3-5,7`. Ascending, disjoint, never adjacent; both ends are in. */
export type IndexSet = readonly (readonly [first: number, last: number])[];

/** Indexes of `completions` and above, and what is no number, are left out. */
export function parseIndexes(text: string | undefined, completions: number): IndexSet {
  const ranges = (text ?? '').split(',').flatMap((part): [number, number][] => {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (match === null) return [];
    const first = Number(match[1]);
    const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
    return first <= last ? [[first, last]] : [];
  });
  return merged(ranges);
}

export const formatIndexes = (set: IndexSet): string => set.map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`)).join(',');

export const withIndexes = (set: IndexSet, indexes: Iterable<number>): IndexSet => merged([...set, ...[...indexes].map((index): [number, number] => [index, index])]);

export const union = (a: IndexSet, b: IndexSet): IndexSet => merged([...a, ...b]);

export const countOf = (set: IndexSet): number => set.reduce((sum, [first, last]) => sum + last - first + 1, 0);

export function hasIndex(set: IndexSet, index: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[middle]![1] < index) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low]![0] <= index;
}

export const overlap = (a: IndexSet, b: IndexSet): number =>
  a.reduce((sum, [first, last]) => sum + b.reduce((part, [from, to]) => part + Math.max(0, Math.min(last, to) - Math.max(first, from) + 1), 0), 0);

/** The lowest `count` of 0 to `completions` - 1 that are not in the set. */
export function firstMissing(set: IndexSet, count: number, completions: number): number[] {
  const found: number[] = [];
  let next = 0;
  for (const [first, last] of [...set, [completions, completions] as const]) {
    for (; next < first && next < completions && found.length < count; next++) found.push(next);
    next = Math.max(next, last + 1);
  }
  return found;
}

function merged(ranges: readonly (readonly [number, number])[]): IndexSet {
  const result: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = result.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}
