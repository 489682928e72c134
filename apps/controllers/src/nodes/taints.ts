import type { Node, Taint } from '@roundsman/api';

const prefix = 'node.kubernetes.io/';
const notReady = `${prefix}not-ready`;
const unreachable = `${prefix}unreachable`;

/** Condition -> the taint while it is True. */
const byPressure: Readonly<Record<string, string>> = {
  MemoryPressure: `${prefix}memory-pressure`,
  DiskPressure: `${prefix}disk-pressure`,
  PIDPressure: `${prefix}pid-pressure`,
  NetworkUnavailable: `${prefix}network-unavailable`,
};
const keptByUs = new Set([notReady, unreachable, `${prefix}unschedulable`, ...Object.values(byPressure)]);

export const readiness = ({ status }: Node): 'True' | 'False' | 'Unknown' => status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';

/** Why no new pods may come: how the node is, and whether a person has cordoned it off. */
export function closingTaints({ spec, status }: Node): Taint[] {
  const pressures = (status?.conditions ?? []).flatMap(({ type, status: state }) => (state === 'True' && byPressure[type] !== undefined ? [byPressure[type]] : []));
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const keys = [
    ...(ready?.status === 'False' ? [notReady] : []),
    ...(ready?.status === 'Unknown' ? [unreachable] : []),
    ...pressures,
    ...(spec.unschedulable === true ? [`${prefix}unschedulable`] : []),
  ];
  return keys.map((key) => ({ key, effect: 'NoSchedule' }));
}

/** What tells the pods of a node that is not ready to leave; undefined for one that is. */
export function leavingTaint(node: Node): string | undefined {
  return { True: undefined, False: notReady, Unknown: unreachable }[readiness(node)];
}

const isLeaving = ({ key, effect }: Taint): boolean => effect === 'NoExecute' && (key === notReady || key === unreachable);
export const leavingTaintOf = ({ spec }: Node): Taint | undefined => spec.taints?.find(isLeaving);

/** The taints of a node: those of others as they are, ours as they are to be. `leaving`: the key, and since when. */
export function taintsOf(node: Node, leaving: { readonly key: string; readonly timeAdded: string } | undefined): Taint[] {
  const present = node.spec.taints ?? [];
  const closing = closingTaints(node);
  const wanted: Taint[] = [...closing, ...(leaving === undefined ? [] : [{ key: leaving.key, effect: 'NoExecute' as const, timeAdded: leaving.timeAdded }])];
  const kept = present.filter((taint) => {
    const ours = isLeaving(taint) || (taint.effect === 'NoSchedule' && keptByUs.has(taint.key));
    return !ours || wanted.some(({ key, effect }) => key === taint.key && effect === taint.effect);
  });
  return [...kept, ...wanted.filter(({ key, effect }) => !kept.some((taint) => taint.key === key && taint.effect === effect))];
}
