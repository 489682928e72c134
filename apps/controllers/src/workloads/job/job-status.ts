import { isPodActive, isPodReady, type Job, type JobStatus, type Pod } from '@roundsman/api';
import { wholeSeconds } from '../../timestamps.ts';
import { formatIndexes } from './index-set.ts';
import { conditionOf, type JobEnd } from './job-end.ts';
import { isIndexed, isTerminating } from './job-pods.ts';
import type { Tally } from './job-tally.ts';

export interface Written {
  /** The job is to end so. */
  readonly end: JobEnd | undefined;
  /** Nothing of it runs, is held, or waits to be counted: it has ended. */
  readonly over: boolean;
  /** Uids of ended pods that are written down and not counted yet. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
}

/** The status to store; counts that are 0 are left out where Kubernetes does so. */
export function jobStatus(job: Job, pods: readonly Pod[], tally: Tally, { end, over, uncounted }: Written, nowMs: number): JobStatus {
  const now = wholeSeconds(nowMs);
  const conditions = [...(job.status?.conditions ?? [])];
  const set = (type: string, status: 'True' | 'False', reason: string, message: string): boolean => {
    const at = conditions.findIndex((condition) => condition.type === type);
    const known = conditions[at];
    if (known === undefined ? status === 'False' : known.status === status && known.reason === reason && known.message === message) return false;
    const condition = { type, status, reason, message, lastProbeTime: now, lastTransitionTime: now };
    if (known === undefined) conditions.push(condition);
    else conditions[at] = condition;
    return true;
  };

  let startTime = job.status?.startTime ?? (job.spec.suspend === true ? undefined : now);
  let completionTime = job.status?.completionTime;
  if (end !== undefined) {
    if (conditionOf(job, end.type) === undefined) set(end.type, 'True', end.reason, end.message);
    if (over) set(end.type === 'FailureTarget' ? 'Failed' : 'Complete', 'True', end.reason, end.message);
    if (over && end.type === 'SuccessCriteriaMet') completionTime = now;
  } else if (job.spec.suspend === true) set('Suspended', 'True', 'JobSuspended', 'Job suspended');
  // Its active time begins anew.
  else if (set('Suspended', 'False', 'JobResumed', 'Job resumed')) startTime = now;

  const succeeded = isIndexed(job) ? tally.succeeded : tally.counted.succeeded;
  const { failed } = tally.counted;
  return withPods(
    {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(startTime == null ? {} : { startTime }),
      ...(completionTime == null ? {} : { completionTime }),
      ...(succeeded === 0 ? {} : { succeeded }),
      ...(failed === 0 ? {} : { failed }),
      ...(tally.completedIndexes.length === 0 ? {} : { completedIndexes: formatIndexes(tally.completedIndexes) }),
      ...(tally.failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(tally.failedIndexes) }),
      uncountedTerminatedPods: {
        ...(uncounted.succeeded.length === 0 ? {} : { succeeded: [...uncounted.succeeded] }),
        ...(uncounted.failed.length === 0 ? {} : { failed: [...uncounted.failed] }),
      },
    },
    pods,
  );
}

/** The status with the counts of these pods, which may have changed since it was planned. */
export function withPods(status: JobStatus, pods: readonly Pod[]): JobStatus {
  const active = pods.filter(isPodActive);
  const { active: _, ...rest } = status;
  return { ...rest, ...(active.length === 0 ? {} : { active: active.length }), ready: active.filter(isPodReady).length, terminating: pods.filter(isTerminating).length };
}

/** What the step from one status to the next tells people. */
export function jobNews(job: Job, status: JobStatus): { type: 'Normal' | 'Warning'; reason: string; message: string }[] {
  const news: { type: 'Normal' | 'Warning'; reason: string; message: string }[] = [];
  for (const { type, status: holds, reason = '', message = '' } of status.conditions ?? []) {
    if (job.status?.conditions?.some((old) => old.type === type && old.status === holds)) continue;
    if (type === 'Suspended') news.push({ type: 'Normal', reason: holds === 'True' ? 'Suspended' : 'Resumed', message });
    else if (type === 'Failed') news.push({ type: 'Warning', reason, message });
    else if (type === 'Complete') {
      const { completions } = job.spec;
      if (completions !== undefined && (status.succeeded ?? 0) > completions) news.push({ type: 'Warning', reason: 'TooManySucceededPods', message: 'Too many succeeded pods running after completion count reached' });
      news.push({ type: 'Normal', reason: 'Completed', message: 'Job completed' });
    }
  }
  return news;
}
