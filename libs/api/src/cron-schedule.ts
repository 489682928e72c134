import { Cron } from 'croner';

/** When the jobs of a CronJob start. */
export interface CronSchedule {
  /** The first start after this moment; undefined when none ever comes. Milliseconds since the epoch. */
  next(afterMs: number): number | undefined;
  /** The last start after `afterMs` and not after `untilMs`; undefined when there is none. */
  latest(afterMs: number, untilMs: number): number | undefined;
}

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/**
 * Reads what Kubernetes takes as `spec.schedule`: five fields, a macro such as `@daily`, or `@every 1h30m`. Without a zone the machine's counts.
 * Throws an Error that says what is wrong.
 */
export function cronSchedule(schedule: string, timeZone?: string): CronSchedule {
  const every = /^@every\s+(.+)$/.exec(schedule.trim());
  if (every !== null) {
    const ms = durationMs(every[1]!);
    const anchor = (afterMs: number): number => Math.floor(afterMs / 1000) * 1000;
    return {
      next: (afterMs) => anchor(afterMs) + ms,
      latest: (afterMs, untilMs) => (untilMs < anchor(afterMs) + ms ? undefined : anchor(afterMs) + Math.floor((untilMs - anchor(afterMs)) / ms) * ms),
    };
  }
  const pattern = macros[schedule.trim()] ?? schedule.trim().replaceAll('?', '*');
  if (pattern.split(/\s+/).length !== 5) throw new Error(`expected exactly 5 fields, found ${pattern === '' ? 0 : pattern.split(/\s+/).length}: [${schedule}]`);
  let cron: Cron;
  try {
    cron = new Cron(pattern, { mode: '5-part', paused: true, ...(timeZone === undefined ? {} : { timezone: timeZone }) });
    cron.nextRun(new Date(0));
  } catch (error) {
    throw new Error((error as Error).message.replace(/^CronPattern: /, ''), { cause: error });
  }
  return {
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime(),
    latest(afterMs, untilMs) {
      // Runs before a moment are given, this one is to be among them.
      const last = cron.previousRuns(1, new Date(Math.floor(untilMs / 1000) * 1000 + 1000))[0]?.getTime();
      return last !== undefined && last > afterMs ? last : undefined;
    },
  };
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000 };

/** `1h30m`: whole seconds, one at least. */
function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+)([hms])/g)];
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0);
  if (parts.map(([part]) => part).join('') !== text || ms < 1_000 || ms > 366 * 86_400_000) throw new Error(`failed to parse duration @every ${text}: expected one such as 1h30m`);
  return ms;
}
