import { randomInt } from 'node:crypto';

/** Numbers of which some are kept for those who ask for one by name: what is given to others comes from the rest as long as that lasts. */
export interface Range {
  readonly first: number;
  readonly last: number;
  /** How many at the beginning are given to others only when the rest is used up. */
  readonly kept: number;
}

/** Of a range of this size, what Kubernetes keeps: a share, within bounds; nothing of the smallest ranges. */
export function keptOf(size: number, { share, most }: { readonly share: number; readonly most: number }): number {
  const least = 16;
  return size <= least ? 0 : Math.min(Math.max(least, Math.floor(size / share)), most);
}

/** A free number; undefined when all are taken. Where to begin is left to chance, so that what was given back is not given again at once. */
export function freeIn({ first, last, kept }: Range, isTaken: (number: number) => boolean): number | undefined {
  const free = (from: number, to: number): number | undefined => {
    const size = to - from + 1;
    if (size <= 0) return undefined;
    const begin = randomInt(size);
    for (let step = 0; step < size; step++) {
      const candidate = from + ((begin + step) % size);
      if (!isTaken(candidate)) return candidate;
    }
    return undefined;
  };
  return free(first + kept, last) ?? free(first, first + kept - 1);
}
