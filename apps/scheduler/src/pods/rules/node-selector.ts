import type { NodeSelectorTerm, PodSpec } from '@roundsman/api';

/** Names of the only nodes that the required terms leave over, when every term names some (as pods of a DaemonSet do); undefined: any. */
export function namedNodes({ affinity }: PodSpec): Set<string> | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names = terms.map(namedByTerm);
  if (names.length === 0) return undefined;
  const all = new Set<string>();
  for (const some of names) {
    if (some === undefined) return undefined;
    for (const name of some) all.add(name);
  }
  return all;
}

function namedByTerm({ matchFields = [] }: NodeSelectorTerm): string[] | undefined {
  const lists = matchFields.flatMap(({ key, operator, values = [] }) => (key === 'metadata.name' && operator === 'In' ? [values] : []));
  return lists.length === 0 ? undefined : lists.reduce((left, right) => left.filter((name) => right.includes(name)));
}
