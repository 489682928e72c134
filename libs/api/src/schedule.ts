import { Cron } from 'croner';

/** What the arithmetic reads of a task's `spec.schedule`. At most one of the three forms is given. */
export interface ScheduleForm {
  /** `"M N"` in minutes, or five cron fields. */
  readonly schedule?: string | undefined;
  readonly startAfterSeconds?: number | undefined;
  readonly intervalSeconds?: number | undefined;
  readonly timeZone?: string | undefined;
  readonly roundTimeoutMinute?: number | undefined;
  readonly roundTimeoutSeconds?: number | undefined;
}

/** A schedule taken apart: a fixed grid, a cron expression, or one round. Milliseconds. */
export type Timing =
  | { readonly form: 'grid'; readonly startAfterMs: number; readonly intervalMs: number }
  | { readonly form: 'cron'; readonly cron: Cron; readonly intervalMs: number }
  | { readonly form: 'once'; readonly startAfterMs: number };

/** A schedule that cannot work; `field` is below `spec.schedule`. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  constructor(
    readonly field: 'schedule' | 'timeZone' | 'intervalSeconds' | 'startAfterSeconds',
    message: string,
  ) {
    super(message);
  }
}

const minute = 60_000;
/**
 * The most that a task may ask for. Beyond these a number is a mistake, and dates computed from it would leave what a Date can
 * hold: up to a year to the first round and between two, a week for a round, a day of requests, an hour for one of them.
 */
export const bounds = {
  scheduleSeconds: 31_622_400,
  scheduleMinutes: 527_040,
  roundTimeoutSeconds: 604_800,
  roundTimeoutMinutes: 10_080,
  rounds: 1_000_000_000,
  durationSeconds: 86_400,
  qps: 1_000_000_000,
  requestMs: 3_600_000,
} as const;
/** A round is closed after this long when the task does not say. */
export const defaultRoundTimeoutMs = 60 * minute;
/** Cron ticks looked at to find the shortest gap: covers every pattern within a day and the turns of days around it. */
const ticksSampled = 400;
/** A leap year, so that `29 2` has a tick. */
const sampleFrom = new Date('2024-01-01T00:00:00Z');

const kept = new Map<string, Timing | ScheduleError>();
const keptLimit = 1000;

/**
 * Takes a schedule apart. Throws ScheduleError when it cannot work: unknown form, two forms, an impossible date such as
 * 30 February, an unknown zone. Answers are kept, cron is costly to read.
 */
export function timingOf(schedule: ScheduleForm): Timing {
  const { schedule: text, startAfterSeconds, intervalSeconds, timeZone } = schedule;
  const key = JSON.stringify([text, startAfterSeconds, intervalSeconds, timeZone]);
  let timing = kept.get(key);
  if (timing === undefined) {
    timing = attempt(schedule);
    if (kept.size >= keptLimit) kept.delete(kept.keys().next().value!);
    kept.set(key, timing);
  }
  if (timing instanceof ScheduleError) throw timing;
  return timing;
}

function attempt(schedule: ScheduleForm): Timing | ScheduleError {
  try {
    return read(schedule);
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
}

function read({ schedule: text, startAfterSeconds, intervalSeconds, timeZone }: ScheduleForm): Timing {
  if (timeZone !== undefined) checkZone(timeZone);
  if (text === undefined) {
    if (timeZone !== undefined) throw new ScheduleError('timeZone', 'only a cron schedule has a time zone');
    checkSeconds('startAfterSeconds', startAfterSeconds, 0);
    checkSeconds('intervalSeconds', intervalSeconds, 1);
    const startAfterMs = (startAfterSeconds ?? 0) * 1000;
    if (intervalSeconds === undefined) return { form: 'once', startAfterMs };
    return { form: 'grid', startAfterMs, intervalMs: intervalSeconds * 1000 };
  }
  if (intervalSeconds !== undefined) throw new ScheduleError('intervalSeconds', 'may not be given together with schedule: choose one form');
  if (startAfterSeconds !== undefined) throw new ScheduleError('startAfterSeconds', 'may not be given together with schedule: choose one form');
  const fields = text.trim().split(/\s+/);
  if (fields.length === 2) {
    if (timeZone !== undefined) throw new ScheduleError('timeZone', 'only a cron schedule has a time zone');
    return minutesForm(fields[0]!, fields[1]!);
  }
  if (fields.length === 5) return cronForm(fields.join(' '), timeZone ?? 'UTC');
  throw new ScheduleError('schedule', twoForms);
}

/** Objects of an earlier version, with other bounds, come here too: what cannot be computed with is told, never computed. */
function checkSeconds(field: 'startAfterSeconds' | 'intervalSeconds', value: number | undefined, least: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= bounds.scheduleSeconds)) return;
  throw new ScheduleError(field, `must be a whole number of seconds from ${least} to ${bounds.scheduleSeconds} (a year)`);
}

const longestMinutes = bounds.scheduleMinutes;

/** Two words that are no numbers may well be meant as something else. */
const twoForms = 'a schedule is "M N", as in "0 5" (at once, then every 5 minutes), or a cron expression of five fields, as in "*/5 * * * *"';

function minutesForm(after: string, every: string): Timing {
  if (!/^\d{1,7}$/.test(after) || Number(after) > longestMinutes) throw new ScheduleError('schedule', `in "M N" the start M must be a whole number of minutes from 0 to ${longestMinutes}; ${twoForms}`);
  if (!/^\d{1,7}$/.test(every) || Number(every) < 1 || Number(every) > longestMinutes) {
    throw new ScheduleError('schedule', `in "M N" the interval N must be a whole number of minutes from 1 to ${longestMinutes}; ${twoForms}`);
  }
  return { form: 'grid', startAfterMs: Number(after) * minute, intervalMs: Number(every) * minute };
}

function cronForm(expression: string, zone: string): Timing {
  let cron: Cron;
  let sample: Cron;
  try {
    cron = new Cron(expression, { mode: '5-part', paused: true, ...(zone === 'UTC' ? { utcOffset: 0 } : { timezone: zone }) });
    // The pattern alone sets the gap; without a zone a tick costs a tenth.
    sample = new Cron(expression, { mode: '5-part', paused: true, utcOffset: 0 });
  } catch (error) {
    throw new ScheduleError('schedule', `is not a cron expression: ${(error as Error).message.replace(/^CronPattern: /, '')}`);
  }
  let previous = sample.nextRun(sampleFrom);
  if (previous === null) throw new ScheduleError('schedule', 'never comes: no date matches this cron expression');
  let shortest = Number.POSITIVE_INFINITY;
  for (let tick = 0; tick < ticksSampled && shortest > minute; tick++) {
    const next: Date | null = sample.nextRun(previous);
    if (next === null) break;
    shortest = Math.min(shortest, next.getTime() - previous.getTime());
    previous = next;
  }
  return { form: 'cron', cron, intervalMs: shortest };
}

function checkZone(zone: string): void {
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    throw new ScheduleError('timeZone', 'is not a time zone of the IANA database, such as Europe/Berlin');
  }
}

/** Milliseconds between two starts, for cron the shortest gap; undefined when there is only one round. */
export function intervalMs(schedule: ScheduleForm): number | undefined {
  const timing = timingOf(schedule);
  return timing.form === 'once' ? undefined : timing.intervalMs;
}

/** Milliseconds from a round's start to its deadline: as given (a week at most), otherwise 60 minutes, but never more than the interval. */
export function roundTimeoutMs(schedule: ScheduleForm): number {
  const longest = bounds.roundTimeoutSeconds * 1000;
  if (schedule.roundTimeoutSeconds !== undefined) return Math.min(longest, schedule.roundTimeoutSeconds * 1000);
  if (schedule.roundTimeoutMinute !== undefined) return Math.min(longest, schedule.roundTimeoutMinute * minute);
  return Math.min(defaultRoundTimeoutMs, intervalMs(schedule) ?? Number.POSITIVE_INFINITY);
}

/**
 * A runner ends a round so many milliseconds before its deadline, `roundMs` after its start, so that its result still counts: a tenth
 * of the round, at most a second.
 */
export const roundMarginMs = (roundMs: number): number => Math.min(1_000, 0.1 * roundMs);

/** When the first round starts, milliseconds since the epoch. */
export function firstStart(schedule: ScheduleForm, createdMs: number): number {
  const timing = timingOf(schedule);
  return timing.form === 'cron' ? tickAfter(timing.cron, createdMs)! : createdMs + timing.startAfterMs;
}

/**
 * The start that follows `previousStartMs` (the first one without it), milliseconds since the epoch; undefined when there is
 * none. A grid is anchored at the first start, so an extra round between two points moves nothing. How many rounds a task
 * has (`roundNumber`) is not looked at.
 */
export function nextStart(schedule: ScheduleForm, createdMs: number, previousStartMs: number | undefined): number | undefined {
  const first = firstStart(schedule, createdMs);
  if (previousStartMs === undefined || previousStartMs < first) return first;
  const timing = timingOf(schedule);
  if (timing.form === 'once') return undefined;
  if (timing.form === 'cron') return tickAfter(timing.cron, previousStartMs);
  return first + (Math.floor((previousStartMs - first) / timing.intervalMs) + 1) * timing.intervalMs;
}

const tickAfter = (cron: Cron, ms: number): number | undefined => cron.nextRun(new Date(ms))?.getTime();
