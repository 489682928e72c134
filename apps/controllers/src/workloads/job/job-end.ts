import type { Job, Pod } from '@roundsman/api';
import { rulingOn } from './failure-policy.ts';
import { countOf, overlap, parseIndexes } from './index-set.ts';
import { hasFailed } from './job-pods.ts';
import type { Tally } from './job-tally.ts';

/** That a job is to end, and how; it has ended once all of its pods have. */
export interface JobEnd {
  readonly type: 'SuccessCriteriaMet' | 'FailureTarget';
  readonly reason: string;
  readonly message: string;
}

export const conditionOf = (job: Job, type: string) => job.status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');
/** Over for good: nothing of it is managed any more. */
export const finishedAs = (job: Job) => conditionOf(job, 'Complete') ?? conditionOf(job, 'Failed');

/** Milliseconds until the job has been active too long; undefined without a deadline, or while it is suspended. */
export function deadlineLeftMs(job: Job, nowMs: number): number | undefined {
  const { spec, status } = job;
  if (spec.activeDeadlineSeconds === undefined || spec.suspend === true || status?.startTime === undefined || status.startTime === null) return undefined;
  // Resumed, but not written down yet: its active time begins anew.
  if (conditionOf(job, 'Suspended') !== undefined) return spec.activeDeadlineSeconds * 1000;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000 - nowMs;
}

/** What was decided before holds; otherwise the first failure, then the policy for success. Completions are no matter of this: pods may still run. */
export function endOf(job: Job, pods: readonly Pod[], tally: Tally, nowMs: number): JobEnd | undefined {
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const decided = conditionOf(job, type);
    if (decided !== undefined) return { type, reason: decided.reason ?? '', message: decided.message ?? '' };
  }
  return failureOf(job, pods, tally, nowMs) ?? successByPolicy(job, tally);
}

function failureOf(job: Job, pods: readonly Pod[], tally: Tally, nowMs: number): JobEnd | undefined {
  const { spec } = job;
  const failure = (reason: string, message: string): JobEnd => ({ type: 'FailureTarget', reason, message });
  for (const pod of pods) {
    const { failsJob } = hasFailed(pod, job) ? rulingOn(spec.podFailurePolicy, pod) : {};
    if (failsJob !== undefined) return failure('PodFailurePolicy', failsJob);
  }
  if (tally.failed > spec.backoffLimit || restartsExceedLimit(job, pods)) return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if ((deadlineLeftMs(job, nowMs) ?? 1) <= 0) return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  if (tally.failedIndexes === undefined) return undefined;
  const failedIndexes = countOf(tally.failedIndexes);
  if (spec.maxFailedIndexes !== undefined && failedIndexes > spec.maxFailedIndexes) return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  if (failedIndexes > 0 && failedIndexes + tally.succeeded >= (spec.completions ?? 0)) return failure('FailedIndexes', 'Job has failed indexes');
  return undefined;
}

/** Containers that are restarted in place count as failures too. */
function restartsExceedLimit(job: Job, pods: readonly Pod[]): boolean {
  if (job.spec.template.spec.restartPolicy !== 'OnFailure') return false;
  const alive = pods.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending');
  const restarts = alive.flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]).reduce((sum, { restartCount }) => sum + restartCount, 0);
  return restarts > 0 && restarts >= job.spec.backoffLimit;
}

function successByPolicy({ spec }: Job, { completedIndexes, succeeded }: Tally): JobEnd | undefined {
  if (succeeded === 0) return undefined;
  for (const [index, { succeededIndexes, succeededCount }] of (spec.successPolicy?.rules ?? []).entries()) {
    const wanted = succeededIndexes === undefined ? undefined : parseIndexes(succeededIndexes, spec.completions ?? 0);
    const reached = wanted === undefined ? succeeded : overlap(wanted, completedIndexes);
    const needed = succeededCount ?? (wanted === undefined ? undefined : countOf(wanted));
    if (needed !== undefined && needed > 0 && reached >= needed) return { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: `Matched rules at index ${index}` };
  }
  return undefined;
}
