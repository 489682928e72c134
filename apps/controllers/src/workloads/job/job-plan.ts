import { isPodEnded, type Job, type JobStatus, type Pod } from '@roundsman/api';
import { rulingOn } from './failure-policy.ts';
import { deadlineLeftMs, endOf, type JobEnd } from './job-end.ts';
import { countsFor, hasFailed, isIndexed, isTracked } from './job-pods.ts';
import { lastFailures, sizePlan, type Opening, type SizePlan } from './job-size.ts';
import { jobStatus, type Written } from './job-status.ts';
import { tallyOf, type Tally } from './job-tally.ts';

/** What to do now, in this order: open or remove, store the status, release. A pod is let go only when its end is written down, or does not count. */
export interface JobPlan {
  readonly open: readonly Opening[];
  /** `uncounted`: let go first, its end is not the job's. */
  readonly remove: readonly { readonly pod: Pod; readonly uncounted: boolean }[];
  readonly status: JobStatus;
  readonly release: readonly Pod[];
  /** A back-off or the deadline ends then. */
  readonly againAfterMs?: number;
}

/** Uids in the status at a time, so that it stays small. */
const uncountedLimit = 500;
const completionsReached: JobEnd = { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };

/** For a job that is not finished, and all pods that belong to it. Pure: the same answer whoever asks, so it may be asked again at any time. */
export function planJob(job: Job, pods: readonly Pod[], nowMs: number): JobPlan {
  const tally = tallyOf(job, pods);
  const decided = endOf(job, pods, tally, nowMs);
  const size: SizePlan = decided === undefined ? sizePlan(job, pods, tally, nowMs) : { open: [], remove: tally.active };
  const idle = tally.active.length === size.remove.length && size.open.length === 0;
  const end = decided ?? (idle && isComplete(job, tally) ? completionsReached : undefined);
  const { release, uncounted } = settle(job, pods, tally, end);
  const over = tally.active.length === 0 && tally.terminating.length === 0 && release.length === 0 && uncounted.succeeded.length + uncounted.failed.length === 0;
  const waits = [size.waitMs, end === undefined ? deadlineLeftMs(job, nowMs) : undefined].filter((ms) => ms !== undefined);
  return {
    open: size.open,
    remove: size.remove.map((pod) => ({ pod, uncounted: decided === undefined })),
    status: jobStatus(job, pods, tally, { end, over, uncounted }, nowMs),
    release,
    ...(waits.length === 0 ? {} : { againAfterMs: Math.max(0, Math.min(...waits)) }),
  };
}

/** Without completions one success is enough. */
const isComplete = ({ spec }: Job, { succeeded }: Tally): boolean => (spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions);

/** Which ends are written down now, and which pods are let go after that. A job that ends lets its pods go while they end; they have failed when it fails. */
function settle(job: Job, pods: readonly Pod[], tally: Tally, end: JobEnd | undefined): Pick<Written, 'uncounted'> & { release: Pod[] } {
  const held = new Set([...lastFailures(job, pods, tally).values()].map(({ metadata }) => metadata.uid));
  const written = new Set([...tally.uncounted.succeeded, ...tally.uncounted.failed]);
  const succeeded = [...tally.uncounted.succeeded];
  const failed = [...tally.uncounted.failed];
  const release: Pod[] = [];
  for (const pod of pods) {
    const { uid, deletionTimestamp } = pod.metadata;
    const ends = isPodEnded(pod) || deletionTimestamp !== undefined;
    const over = job.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Succeeded' || (end !== undefined && ends) || (hasFailed(pod, job) && !held.has(uid));
    if (!isTracked(pod) || !over) continue;
    if (!written.has(uid) && succeeded.length + failed.length >= uncountedLimit) continue;
    release.push(pod);
    if (written.has(uid) || !countsFor(pod, job)) continue;
    // Of an indexed job the index is remembered, and that is enough.
    if (pod.status?.phase === 'Succeeded') {
      if (!isIndexed(job)) succeeded.push(uid);
    } else if ((hasFailed(pod, job) || (ends && end?.type === 'FailureTarget')) && rulingOn(job.spec.podFailurePolicy, pod).counts) failed.push(uid);
  }
  return { release, uncounted: { succeeded, failed } };
}
