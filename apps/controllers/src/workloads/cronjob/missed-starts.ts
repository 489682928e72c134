import type { CronJob, CronSchedule } from '@roundsman/api';

/** More missed starts than this, and people are told that something is wrong. */
const many = 100;

export interface Due {
  /** The latest start that has come and was not acted upon; undefined when there is none. Milliseconds since the epoch. */
  readonly startMs: number | undefined;
  /** There were more than a hundred. */
  readonly tooMany: boolean;
}

/** Starts since the last one (or since the cron job was made), as far as they may still begin. Of several only the latest is due. */
export function dueStart(cronJob: CronJob, schedule: CronSchedule, nowMs: number): Due {
  const sinceMs = lastMs(cronJob);
  const { startingDeadlineSeconds } = cronJob.spec;
  const deadlineMs = startingDeadlineSeconds === undefined ? -Infinity : nowMs - startingDeadlineSeconds * 1000;
  const fromMs = Math.max(sinceMs, deadlineMs);
  // From the last start, not from the deadline: `@every` counts from there.
  const startMs = schedule.latest(sinceMs, nowMs);
  if (startMs === undefined || startMs <= deadlineMs) return { startMs: undefined, tooMany: false };
  let missed = 0;
  for (let at = schedule.next(fromMs); at !== undefined && at <= startMs && missed <= many; at = schedule.next(at)) missed += 1;
  return { startMs, tooMany: missed > many };
}

/** The first one after now. Those of `@every` count from the last start (or from when the cron job was made), not from the moment of the look. */
export function nextStart(cronJob: CronJob, schedule: CronSchedule, nowMs: number): number | undefined {
  const fromMs = lastMs(cronJob);
  return schedule.next(schedule.latest(fromMs, nowMs) ?? fromMs);
}

const lastMs = ({ status, metadata }: CronJob): number => Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp);
