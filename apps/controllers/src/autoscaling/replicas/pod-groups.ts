import { podConditionOf, type Pod } from '@roundsman/api';

/** What one pod uses. */
export interface PodMetric {
  /** In thousandths: millicores, thousandths of a byte. */
  readonly value: number;
  /** End of the measurement, milliseconds since the epoch. */
  readonly atMs: number;
  readonly windowMs: number;
}
/** By name of the pod; all are of one namespace. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** When what a pod uses is to be believed. */
export interface Readiness {
  /** For so long after its start a pod's processor time counts only while it is ready, and measured since it became so. */
  readonly cpuInitializationMs: number;
  /** A pod that was not ready later than so long after its start has been ready once. */
  readonly initialReadinessDelayMs: number;
}

export interface PodGroups {
  /** How many are measured and count in full. */
  readonly ready: number;
  /** Not started, or their processor time says nothing yet. */
  readonly unready: ReadonlySet<string>;
  /** They run, and nothing was measured. */
  readonly missing: ReadonlySet<string>;
  /** They end, or have failed. */
  readonly ignored: ReadonlySet<string>;
}

/** Sorts pods by what their metrics are worth, as the autoscaler of Kubernetes does. */
export function groupPods(pods: readonly Pod[], metrics: PodMetrics, resource: string, readiness: Readiness, nowMs: number): PodGroups {
  let ready = 0;
  const unready = new Set<string>();
  const missing = new Set<string>();
  const ignored = new Set<string>();
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || pod.status?.phase === 'Failed') ignored.add(name);
    else if (pod.status?.phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === 'cpu' && saysNothingYet(pod, metric, readiness, nowMs)) unready.add(name);
    else ready++;
  }
  return { ready, unready, missing, ignored };
}

/** Starting takes more processor time than running: until then it is no reason to have more pods. */
function saysNothingYet(pod: Pod, metric: PodMetric, { cpuInitializationMs, initialReadinessDelayMs }: Readiness, nowMs: number): boolean {
  const condition = podConditionOf(pod, 'Ready');
  const startedMs = Date.parse(pod.status?.startTime ?? '');
  if (condition === undefined || Number.isNaN(startedMs)) return true;
  const changedMs = Date.parse(condition.lastTransitionTime ?? '') || 0;
  if (startedMs + cpuInitializationMs > nowMs) return condition.status === 'False' || metric.atMs < changedMs + metric.windowMs;
  return condition.status === 'False' && startedMs + initialReadinessDelayMs > changedMs;
}
