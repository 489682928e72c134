import type { Pod } from '@roundsman/api';
import { MetricError } from '../metrics/metric-error.ts';
import { groupPods, type PodGroups, type PodMetric, type PodMetrics, type Readiness } from './pod-groups.ts';
import { podRequests } from './pod-requests.ts';
import { usageOf, utilizationOf } from './usage-ratio.ts';

/** What a number of pods is computed from. */
export interface Measured {
  readonly pods: readonly Pod[];
  readonly metrics: PodMetrics;
  readonly resource: string;
  /** Only this container of each pod. */
  readonly container?: string | undefined;
  /** How many the target has now. */
  readonly currentReplicas: number;
  readonly readiness: Readiness;
  /** So far from 1 a ratio may be without a change. */
  readonly tolerance: number;
  readonly nowMs: number;
}

export interface Proposal {
  readonly replicas: number;
  /** Percent of what is requested; only where that is the target. */
  readonly percent?: number;
  /** The mean over the pods, in thousandths. */
  readonly average: number;
}

const mostReplicas = 2 ** 31 - 1;
const roundedUp = (replicas: number): number => Math.min(mostReplicas, Math.ceil(replicas));

/** How many pods it takes to use, on the average, this share of what they request. Throws a MetricError when that cannot be told. */
export function replicasForUtilization(measured: Measured, targetPercent: number): Proposal {
  const { groups, metrics } = believed(measured);
  const requests = podRequests(measured.pods, measured.resource, measured.container);
  const { percent, average, ratio } = utilizationOf(metrics, requests, targetPercent);
  // A missing pod may use all that it requests, or as much as is wanted where that is more.
  const fallback = Math.max(100, targetPercent);
  const replicas = rebalanced(measured, groups, metrics, ratio, (name) => Math.trunc(((requests.get(name) ?? 0) * fallback) / 100), (all) => utilizationOf(all, requests, targetPercent).ratio);
  return { replicas, percent, average };
}

/** How many pods it takes to use so much on the average, in thousandths. Throws a MetricError when that cannot be told. */
export function replicasForAverage(measured: Measured, target: number): Proposal {
  const { groups, metrics } = believed(measured);
  const { average, ratio } = usageOf(metrics, target);
  return { replicas: rebalanced(measured, groups, metrics, ratio, () => target, (all) => usageOf(all, target).ratio), average };
}

/** The metrics of the pods that count. */
function believed({ pods, metrics, resource, readiness, nowMs }: Measured): { groups: PodGroups; metrics: Map<string, PodMetric> } {
  if (pods.length === 0) throw new MetricError('no pods returned by selector while calculating replica count');
  const groups = groupPods(pods, metrics, resource, readiness, nowMs);
  const kept = new Map([...metrics].filter(([name]) => !groups.ignored.has(name) && !groups.unready.has(name)));
  if (kept.size === 0) throw new MetricError('did not receive metrics for targeted pods (pods might be unready)');
  return { groups, metrics: kept };
}

/**
 * The number of pods by the ratio of use to target. Pods of which nothing is known are counted against the change: as using nothing when
 * there are to be more, and `most` when there are to be fewer. A change that turns round by that, or is within the tolerance, is none.
 */
function rebalanced(
  { currentReplicas, tolerance }: Measured,
  { ready, unready, missing }: PodGroups,
  metrics: ReadonlyMap<string, PodMetric>,
  ratio: number,
  most: (name: string) => number,
  ratioOf: (metrics: PodMetrics) => number,
): number {
  const countsUnready = unready.size > 0 && ratio > 1;
  if (!countsUnready && missing.size === 0) return Math.abs(1 - ratio) <= tolerance ? currentReplicas : roundedUp(ratio * ready);
  const all = new Map(metrics);
  const assume = (names: Iterable<string>, value: (name: string) => number): void => {
    for (const name of names) all.set(name, { value: value(name), atMs: 0, windowMs: 0 });
  };
  if (ratio < 1) assume(missing, most);
  else if (ratio > 1) assume(missing, () => 0);
  if (countsUnready) assume(unready, () => 0);
  const again = ratioOf(all);
  if (Math.abs(1 - again) <= tolerance || (ratio < 1 && again > 1) || (ratio > 1 && again < 1)) return currentReplicas;
  const replicas = roundedUp(again * all.size);
  return (again < 1 && replicas > currentReplicas) || (again > 1 && replicas < currentReplicas) ? currentReplicas : replicas;
}
