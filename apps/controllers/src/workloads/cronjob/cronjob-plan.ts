import type { CronJob, CronJobStatus, CronSchedule, Job } from '@roundsman/api';
import { wholeSeconds } from '../../timestamps.ts';
import { finishedAs } from '../job/job-end.ts';
import { dueStart, nextStart } from './missed-starts.ts';

export interface News {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What to do now, in this order: remove, start, store the status. */
export interface CronJobPlan {
  /** The job to be made; its name follows from its time, so that a start never makes two. */
  readonly start?: { readonly name: string; readonly atMs: number };
  /** Jobs that still run and are replaced, and finished ones beyond the history that is kept. */
  readonly remove: readonly Job[];
  /** Without the job that is to be made. */
  readonly status: CronJobStatus;
  readonly news: readonly News[];
  /** The next start is due then. */
  readonly againAfterMs?: number;
}

type ActiveJob = NonNullable<CronJobStatus['active']>[number];

/** Looked at so long after a start, so that clocks that differ a little agree on it. Milliseconds. */
const slackMs = 100;

/** Deterministic: minutes since the epoch, as Kubernetes names them. */
export const startName = ({ metadata }: CronJob, atMs: number): string => `${metadata.name}-${Math.floor(atMs / 60_000)}`;

export const referenceTo = ({ metadata: { name, namespace, uid, resourceVersion } }: Job): ActiveJob => ({ apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid, resourceVersion });

/** `jobs`: all that this cron job manages. `schedule` undefined: it cannot be read. */
export function planCronJob(cronJob: CronJob, jobs: readonly Job[], schedule: CronSchedule | undefined, nowMs: number): CronJobPlan {
  const news: News[] = [];
  const status = observed(cronJob, jobs, news);
  const old = beyondHistory(cronJob, jobs);
  const idle = { remove: old, status, news };
  if (cronJob.metadata.deletionTimestamp !== undefined) return { ...idle, remove: [] };
  if (cronJob.spec.suspend || schedule === undefined) return idle;

  const { startMs, tooMany } = dueStart(cronJob, schedule, nowMs);
  const nextMs = nextStart(cronJob, schedule, nowMs);
  const again = nextMs === undefined ? {} : { againAfterMs: nextMs + slackMs - nowMs };
  if (startMs === undefined) return { ...idle, ...again };
  const name = startName(cronJob, startMs);
  const lastScheduleTime = wholeSeconds(startMs);
  // Made by the leader before, which could not note it any more.
  if (jobs.some((job) => job.metadata.name === name)) return { ...idle, status: { ...status, lastScheduleTime }, ...again };

  if (tooMany) news.push({ type: 'Warning', reason: 'TooManyMissedTimes', message: 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew' });
  const running = jobs.filter((job) => isActive(status, job));
  if (cronJob.spec.concurrencyPolicy === 'Forbid' && running.length > 0) {
    // The end of the one that runs brings the next look: the latest start that is still in time is made up for.
    news.push({ type: 'Normal', reason: 'JobAlreadyActive', message: 'Not starting job because prior execution is running and concurrency policy is Forbid' });
    return { ...idle, ...again };
  }
  const replaced = cronJob.spec.concurrencyPolicy === 'Replace' ? running : [];
  return {
    ...again,
    start: { name, atMs: startMs },
    remove: [...old, ...replaced],
    status: withActive({ ...status, lastScheduleTime }, (status.active ?? []).filter(({ uid }) => !replaced.some(({ metadata }) => metadata.uid === uid))),
    news,
  };
}

export const withActive = ({ active: _before, ...status }: CronJobStatus, active: readonly ActiveJob[]): CronJobStatus => ({ ...(active.length === 0 ? {} : { active: [...active] }), ...status });

const isActive = (status: CronJobStatus, { metadata }: Job): boolean => status.active?.some(({ uid }) => uid === metadata.uid) === true;

/** The status as the jobs are now: those that have ended or are gone leave the list, those that were started and not noted any more come in. */
function observed({ status = {}, metadata }: CronJob, jobs: readonly Job[], news: News[]): CronJobStatus {
  const active: ActiveJob[] = [];
  for (const reference of status.active ?? []) {
    const job = jobs.find(({ metadata: { uid } }) => uid === reference.uid);
    const finished = job && finishedAs(job);
    if (job === undefined) news.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${reference.name}` });
    else if (finished !== undefined) news.push({ type: 'Normal', reason: 'SawCompletedJob', message: `Saw completed job: ${job.metadata.name}, condition: ${finished.type}` });
    else active.push(reference);
  }
  const started = new RegExp(`^${metadata.name.replaceAll('.', '\\.')}-\\d+$`);
  for (const job of jobs) {
    if (finishedAs(job) !== undefined || isActive(status, job)) continue;
    if (started.test(job.metadata.name)) active.push(referenceTo(job));
    else news.push({ type: 'Warning', reason: 'UnexpectedJob', message: `Saw a job that the controller did not create or forgot: ${job.metadata.name}` });
  }
  const ends = jobs.filter((job) => finishedAs(job)?.type === 'Complete').flatMap((job) => job.status?.completionTime ?? []);
  const lastSuccessfulTime = [...ends, ...(status.lastSuccessfulTime === undefined ? [] : [status.lastSuccessfulTime])].sort((a, b) => Date.parse(b) - Date.parse(a))[0];
  return withActive({ ...status, ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }) }, active);
}

/** The oldest finished jobs that are too many, of each kind of end. */
function beyondHistory({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const oldestFirst = [...jobs]
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((a, b) => Date.parse(a.status?.startTime ?? a.metadata.creationTimestamp) - Date.parse(b.status?.startTime ?? b.metadata.creationTimestamp) || (a.metadata.name < b.metadata.name ? -1 : 1));
  const beyond = (type: string, kept: number): Job[] => {
    const finished = oldestFirst.filter((job) => finishedAs(job)?.type === type);
    return finished.slice(0, Math.max(0, finished.length - kept));
  };
  return [...beyond('Complete', spec.successfulJobsHistoryLimit), ...beyond('Failed', spec.failedJobsHistoryLimit)];
}
