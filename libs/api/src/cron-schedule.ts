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
    const duration = goDurationMs(every[1]!);
    if (duration === undefined || duration <= 0) throw new Error(`failed to parse duration @every ${every[1]!}: expected one such as 1h30m`);
    // As in Kubernetes: whole seconds, one at least.
    const ms = Math.max(1_000, Math.floor(duration / 1_000) * 1_000);
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
    cron = new Cron(pattern, { mode: '5-part', sloppyRanges: true, paused: true, ...(timeZone === undefined ? {} : { timezone: timeZone }) });
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

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, us: 1e-3, µs: 1e-3, μs: 1e-3, ns: 1e-6 };
const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
/** What Go's durations can hold: 292 years. */
const longestMs = 2 ** 63 / 1e6;

/** Milliseconds of a duration as Go reads it: `1h30m`, `1.5h`, `-5s`, `0`; undefined when it is none. */
export function goDurationMs(text: string): number | undefined {
  const [, sign, unsigned = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (unsigned === '0') return 0;
  const parts = [...unsigned.matchAll(part)];
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0);
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== unsigned || ms >= longestMs) return undefined;
  return sign === '-' ? -ms : ms;
}
