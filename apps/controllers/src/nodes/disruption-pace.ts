import type { Node } from '@roundsman/api';
import { leavingTaintOf, readiness } from './taints.ts';

/** A zone with more nodes slows down when most are not ready; a smaller one stops. */
const largeZone = 50;
const slowDown = 10;
/** Nodes that fall silent together do so within a heartbeat: so long it is waited whether others follow. */
const settleMs = 3_000;
/** Share of nodes that are not ready from which, with three of them, a zone counts as disturbed. */
const disturbedShare = 0.55;

const zoneOf = ({ metadata: { labels } }: Node): string => `${labels?.['topology.kubernetes.io/region'] ?? ''}/${labels?.['topology.kubernetes.io/zone'] ?? ''}`;
const notReadySinceMs = ({ status }: Node): number => Date.parse(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '') || 0;
const isReady = (node: Node): boolean => readiness(node) === 'True';

/** Not one node is ready: more likely nobody hears them than that all are gone. No pod is told to leave then. */
export const isBlackout = (nodes: readonly Node[]): boolean => !nodes.some(isReady);

/** A time that is still to come is from a clock that was put back since, and says nothing. */
const passed = (atMs: number, nowMs: number): number => (atMs > nowMs ? 0 : atMs);

/**
 * From when the pods of one more node of a zone may be told to leave, as Kubernetes paces it: so many nodes per second; in a zone that is mostly not ready,
 * a tenth of that, or none at all when it is small. undefined: not as things are. Milliseconds since the epoch.
 */
export function mayLeaveAtMs(node: Node, nodes: readonly Node[], perSecond: number, nowMs: number): number | undefined {
  if (isBlackout(nodes)) return undefined;
  const zone = nodes.filter((one) => zoneOf(one) === zoneOf(node));
  const unready = zone.filter((one) => !isReady(one)).length;
  const disturbed = unready < zone.length && unready > 2 && unready / zone.length >= disturbedShare;
  if (disturbed && zone.length <= largeZone) return undefined;
  const last = Math.max(0, ...zone.map((one) => passed(Date.parse(leavingTaintOf(one)?.timeAdded ?? '') || 0, nowMs)));
  const paced = last === 0 ? 0 : last + (disturbed ? slowDown : 1) * (1_000 / perSecond);
  return Math.max(paced, passed(notReadySinceMs(node), nowMs) + settleMs);
}
