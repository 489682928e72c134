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
export function dueStart({ spec, status, metadata }: CronJob, schedule: CronSchedule, nowMs: number): Due {
  const sinceMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp);
  const deadlineMs = spec.startingDeadlineSeconds === undefined ? -Infinity : nowMs - spec.startingDeadlineSeconds * 1000;
  const fromMs = Math.max(sinceMs, deadlineMs);
  const startMs = schedule.latest(fromMs, nowMs);
  if (startMs === undefined) return { startMs, tooMany: false };
  let missed = 0;
  for (let at = schedule.next(fromMs); at !== undefined && at <= startMs && missed <= many; at = schedule.next(at)) missed += 1;
  return { startMs, tooMany: missed > many };
}
