import type { Pod } from '@roundsman/api';
import { readySinceMs } from './pod-state.ts';

const costAnnotation = 'controller.kubernetes.io/pod-deletion-cost';
const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

interface Ranked {
  readonly pod: Pod;
  readonly readySince: number | undefined;
  readonly cost: number;
  readonly restarts: number;
}

/**
 * Pods in the order in which they are to go when there are too many, as Kubernetes has it: those on no node, pending, not ready, of lower
 * deletion cost, on nodes with more of their kind (`crowding`), ready for less time, restarted more often, younger.
 */
export function inDeletionOrder(pods: readonly Pod[], nowMs: number, crowding: (pod: Pod) => number = () => 0): Pod[] {
  const ranked = pods.map((pod): Ranked => ({ pod, readySince: readySinceMs(pod), cost: costOf(pod), restarts: restartsOf(pod) }));
  const compare = (a: Ranked, b: Ranked): number =>
    Number((a.pod.spec.nodeName ?? '') !== '') - Number((b.pod.spec.nodeName ?? '') !== '') ||
    phaseOf(a.pod) - phaseOf(b.pod) ||
    Number(a.readySince !== undefined) - Number(b.readySince !== undefined) ||
    a.cost - b.cost ||
    crowding(b.pod) - crowding(a.pod) ||
    byAge(a, b, a.readySince, b.readySince, nowMs) ||
    b.restarts - a.restarts ||
    byAge(a, b, Date.parse(a.pod.metadata.creationTimestamp), Date.parse(b.pod.metadata.creationTimestamp), nowMs) ||
    byUid(a, b);
  return ranked.sort(compare).map(({ pod }) => pod);
}

const phaseOf = ({ status }: Pod): number => phaseRank[status?.phase ?? 'Pending'] ?? 2;

function costOf({ metadata }: Pod): number {
  const text = metadata.annotations?.[costAnnotation] ?? '0';
  return /^(0|-?[1-9]\d{0,9})$/.test(text) && Math.abs(Number(text)) <= 2 ** 31 ? Number(text) : 0;
}

/** Of containers that are kept running; init containers count as far as they are sidecars. */
function restartsOf({ spec, status }: Pod): number {
  const sidecars = new Set((spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name));
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name))];
  return Math.max(0, ...statuses.map(({ restartCount }) => restartCount));
}

/** The younger first, by powers of two of their age: within one of them the uid decides, so that not always the newest fall. */
function byAge(a: Ranked, b: Ranked, aMs: number | undefined, bMs: number | undefined, nowMs: number): number {
  if (aMs === undefined || bMs === undefined || aMs === bMs) return 0;
  return ageRank(aMs, nowMs) - ageRank(bMs, nowMs) || byUid(a, b);
}

const byUid = (a: Ranked, b: Ranked): number => (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1);

const ageRank = (sinceMs: number, nowMs: number): number => (nowMs > sinceMs ? Math.floor(Math.log2((nowMs - sinceMs) * 1e6)) : -1);
