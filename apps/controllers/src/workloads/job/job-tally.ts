import { isPodActive, type Job, type Pod } from '@roundsman/api';
import { rulingOn } from './failure-policy.ts';
import { countOf, parseIndexes, withIndexes, type IndexSet } from './index-set.ts';
import { countsFor, failuresBefore, hasFailed, indexOf, isIndexed, isTerminating, isTracked } from './job-pods.ts';

/** How a job stands, all that is counted and all that is about to be. */
export interface Tally {
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
  /** In the status' counters, those included whose pods have been let go since. For indexed jobs `succeeded` follows from the indexes. */
  readonly counted: { readonly succeeded: number; readonly failed: number };
  /** Uids that are written down as ended, but whose pods are still held. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Held, ended and not written down yet. `failed`: those that count towards the back-off limit. */
  readonly ended: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] };
  readonly succeeded: number;
  readonly failed: number;
  readonly completedIndexes: IndexSet;
  /** Only with a back-off limit per index. */
  readonly failedIndexes: IndexSet | undefined;
}

/** `pods` are all that belong to the job. A uid that is written down and whose pod is not held any more is counted: exactly once, whatever happened between two writes. */
export function tallyOf(job: Job, pods: readonly Pod[]): Tally {
  const { spec, status } = job;
  const held = pods.filter(isTracked);
  const heldUids = new Set(held.map(({ metadata }) => metadata.uid));
  const before = { succeeded: status?.uncountedTerminatedPods?.succeeded ?? [], failed: status?.uncountedTerminatedPods?.failed ?? [] };
  const uncounted = { succeeded: before.succeeded.filter((uid) => heldUids.has(uid)), failed: before.failed.filter((uid) => heldUids.has(uid)) };
  const counted = {
    succeeded: (status?.succeeded ?? 0) + before.succeeded.length - uncounted.succeeded.length,
    failed: (status?.failed ?? 0) + before.failed.length - uncounted.failed.length,
  };
  const writtenDown = new Set([...uncounted.succeeded, ...uncounted.failed]);
  const fresh = held.filter((pod) => !writtenDown.has(pod.metadata.uid) && countsFor(pod, job));
  const ended = {
    succeeded: fresh.filter((pod) => pod.status?.phase === 'Succeeded'),
    failed: fresh.filter((pod) => hasFailed(pod, job) && rulingOn(spec.podFailurePolicy, pod).counts),
  };
  const completions = spec.completions ?? 0;
  const completedIndexes = isIndexed(job) ? withIndexes(parseIndexes(status?.completedIndexes, completions), indexesOf(job, ended.succeeded)) : [];
  return {
    active: pods.filter(isPodActive),
    terminating: pods.filter(isTerminating),
    counted,
    uncounted,
    ended,
    succeeded: isIndexed(job) ? countOf(completedIndexes) : counted.succeeded + uncounted.succeeded.length + ended.succeeded.length,
    failed: counted.failed + uncounted.failed.length + ended.failed.length,
    completedIndexes,
    failedIndexes: spec.backoffLimitPerIndex === undefined ? undefined : withIndexes(parseIndexes(status?.failedIndexes, completions), indexesOf(job, held.filter((pod) => failsItsIndex(job, pod)))),
  };
}

export const indexesOf = (job: Job, pods: readonly Pod[]): number[] => pods.flatMap((pod) => indexOf(pod, job) ?? []);

function failsItsIndex(job: Job, pod: Pod): boolean {
  if (!hasFailed(pod, job)) return false;
  const { failsIndex, counts } = rulingOn(job.spec.podFailurePolicy, pod);
  return failsIndex || (counts && failuresBefore(pod).counted >= (job.spec.backoffLimitPerIndex ?? 0));
}
