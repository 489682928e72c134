import type { Refusal } from '../filters/filter.ts';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`: how many nodes give each reason, as Kubernetes words it. */
export function unavailable(nodes: number, reasons: Iterable<readonly string[]>): string {
  const counts = new Map<string, number>();
  for (const some of reasons) for (const reason of some) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return `0/${nodes} nodes are available:${texts.length === 0 ? '' : ` ${texts.join(', ')}.`}`;
}

/** The same of refusals; one that is of the pod itself stands for all: `0/3 nodes are available: persistentvolumeclaim "p" not found.` */
export function unplaceable(nodes: number, refusals: readonly Refusal[]): string {
  const own = refusals.find(({ ofPod }) => ofPod === true);
  return own === undefined ? unavailable(nodes, refusals.map(({ reasons }) => reasons)) : `0/${nodes} nodes are available: ${own.reasons.join(', ')}.`;
}

export const noNodes = 'no nodes available to schedule pods';
