import { firstStart, ledgerOf, nextStart, roundMarginMs, roundTimeoutMs, ScheduleError, taskAnnotations, timingOf, totalRounds, type Ledger, type Round } from '@roundsman/api';
import type { Task } from './caches.ts';

export interface PlanSettings {
  /** A Round is made so long before its start, so that its runners have the work when it starts. */
  readonly leadMs: number;
  /** How long after its start a round waits for the first ready runner before it is run with all of them missing; not again where the runtime was waited for in vain. */
  readonly noRunnerWaitMs: number;
  /** How long a round waits for a runner whose pod is ready and that was not heard yet. */
  readonly heartbeatWaitMs: number;
  /** A round that cannot begin within its time may still begin so late, even when it then ends after its deadline. */
  readonly lateMs: number;
  /** Missed rounds recorded one by one after an outage; older ones are only counted. */
  readonly maxMissed: number;
}
export const defaultPlanSettings: PlanSettings = { leadMs: 1_000, noRunnerWaitMs: 30_000, heartbeatWaitMs: 5_000, lateMs: 5_000, maxMissed: 10 };

export interface PlannedRound {
  readonly number: number;
  readonly trigger: 'schedule' | 'run-now' | 'missed';
  readonly startMs: number;
  readonly deadlineMs: number;
  /** Starts left out before this one; of hundreds of cron ticks about so many. */
  readonly skipped: number;
  /** The ledger as it is with this round. */
  readonly ledger: Ledger;
}

export type Plan =
  | { readonly do: 'create'; readonly round: PlannedRound }
  /** Nothing before `untilMs`; without it, nothing before something changes. */
  | { readonly do: 'wait'; readonly untilMs?: number; readonly why: 'open-round' | 'suspended' | 'not-due' | 'no-runtime' | 'no-runner' | 'finished' | 'invalid-schedule' };

export interface World {
  readonly nowMs: number;
  readonly openRound: boolean;
  /** From when the schedule counts: creation of the task, or when its runtime settled if that was later. Undefined: it has not, or what to test is not known yet. */
  readonly fromMs: number | undefined;
  /** There is who probes, and whom. */
  readonly ready: boolean;
  /** That somebody gets ready was waited for already, when the runtime was made. */
  readonly waitedFor?: boolean | undefined;
  /** Until when it is worth waiting for further runners. */
  readonly comingUntilMs?: number | undefined;
  /** When this process saw the present generation take the place of another one; undefined when it has seen no change. */
  readonly changedMs?: number | undefined;
  /** Since when a run-now waits for a runner; undefined when it has just been asked for. */
  readonly runNowSinceMs?: number | undefined;
}

/** The next step for a task with these rounds. A schedule that cannot work (stored by a version with other rules) waits for its correction. */
export function planTask(task: Task, rounds: readonly Round[], world: World, settings: PlanSettings = defaultPlanSettings): Plan {
  try {
    return planRound(task, ledgerOf(task, rounds), world, settings);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return { do: 'wait', why: 'invalid-schedule' };
  }
}

/**
 * The next step for one task, from its rows and the time alone; called again after each step. At most one round is open; numbers
 * have no gaps; starts lie on the grid of the schedule; rounds whose time has passed are recorded as missed and the next one runs.
 * No start lies before the runtime has settled, so none is missed that nobody could have kept.
 */
export function planRound(task: Task, ledger: Ledger, world: World, settings: PlanSettings = defaultPlanSettings): Plan {
  if (world.openRound) return { do: 'wait', why: 'open-round' };
  const { nowMs, fromMs } = world;
  const timeoutMs = roundTimeoutMs(task.spec.schedule);
  const lateMs = lateness(task, timeoutMs, settings);
  const runNow = task.metadata.annotations?.[taskAnnotations.runNow] ?? '';

  if (runNow !== '' && runNow !== ledger.handledRunNow) {
    if (fromMs === undefined) return { do: 'wait', why: 'no-runtime' };
    return whenReady(Math.max(world.runNowSinceMs ?? nowMs, fromMs) + Math.min(settings.noRunnerWaitMs, lateMs), 'run-now', nowMs, 0);
  }
  if (task.spec.suspend === true) return { do: 'wait', why: 'suspended' };
  const left = totalRounds(task.spec.schedule) - ledger.scheduled;
  if (left <= 0) return { do: 'wait', why: 'finished' };

  if (fromMs === undefined) return { do: 'wait', why: 'no-runtime' };

  const due = nextDue(task, ledger, world, fromMs, lateMs, left, settings.maxMissed);
  if (due === undefined) return { do: 'wait', why: 'finished' };
  if (due.missed) return create('missed', due.startMs, due.skipped);
  if (nowMs < due.startMs - settings.leadMs) return { do: 'wait', untilMs: due.startMs - settings.leadMs, why: 'not-due' };
  return whenReady(due.startMs + Math.min(settings.noRunnerWaitMs, lateMs / 2), 'schedule', due.startMs, due.skipped);

  /** Without any runner it is waited for one, unless it was already; with some for those that may come at any moment. Then it begins with whom there is. */
  function whenReady(patientUntilMs: number, trigger: PlannedRound['trigger'], startMs: number, skipped: number): Plan {
    const untilMs = world.ready || world.waitedFor === true ? Math.min(patientUntilMs, world.comingUntilMs ?? nowMs) : patientUntilMs;
    return nowMs < untilMs ? { do: 'wait', untilMs, why: 'no-runner' } : create(trigger, startMs, skipped);
  }

  function create(trigger: PlannedRound['trigger'], startMs: number, skipped: number): Plan {
    const number = ledger.lastNumber + 1;
    const scheduled = trigger !== 'run-now';
    return {
      do: 'create',
      round: {
        number,
        trigger,
        startMs,
        deadlineMs: startMs + timeoutMs,
        skipped,
        ledger: {
          lastNumber: number,
          scheduled: ledger.scheduled + (scheduled ? 1 : 0),
          lastScheduledMs: scheduled ? startMs : ledger.lastScheduledMs,
          handledRunNow: trigger === 'run-now' ? runNow : ledger.handledRunNow,
          generation: task.metadata.generation,
        },
      },
    };
  }
}

/** How long after its start a round may still begin: while it can end in time, and never less than a little. */
function lateness(task: Task, timeoutMs: number, { lateMs }: PlanSettings): number {
  const { durationInSecond, perRequestTimeoutInMS } = task.spec.request;
  return Math.min(timeoutMs, Math.max(lateMs, timeoutMs - roundMarginMs(timeoutMs) - durationInSecond * 1000 - perRequestTimeoutInMS));
}

interface Due {
  readonly startMs: number;
  readonly missed: boolean;
  readonly skipped: number;
}

function nextDue(task: Task, ledger: Ledger, world: World, fromMs: number, lateMs: number, left: number, maxMissed: number): Due | undefined {
  const { schedule } = task.spec;
  const { lastScheduledMs } = ledger;
  /** Starts up to here are past. */
  const pastMs = world.nowMs - lateMs;
  const next = (afterMs: number | undefined): number | undefined => nextStart(schedule, fromMs, afterMs);

  if (ledger.generation !== task.metadata.generation) {
    // Edited or resumed since: starts before that were never promised, so none of them was missed.
    if (timingOf(schedule).form === 'once') {
      if (lastScheduledMs !== undefined) return undefined;
      return { startMs: Math.max(firstStart(schedule, fromMs), world.changedMs ?? world.nowMs), missed: false, skipped: 0 };
    }
    const startMs = next(Math.max(lastScheduledMs ?? Number.NEGATIVE_INFINITY, pastMs, (world.changedMs ?? Number.NEGATIVE_INFINITY) - 1));
    return startMs === undefined ? undefined : { startMs, missed: false, skipped: 0 };
  }

  const startMs = next(lastScheduledMs);
  if (startMs === undefined || startMs > pastMs) return startMs === undefined ? undefined : { startMs, missed: false, skipped: 0 };
  // A task with few rounds left is over soon: each of them is recorded.
  if (left <= maxMissed) return { startMs, missed: true, skipped: 0 };
  return { missed: true, ...newestMissed(schedule, next, startMs, pastMs, maxMissed) };
}

/** Ticks of cron counted one by one; of more the number is estimated from the gap between these. */
const countedTicks = 200;

/** The first of the newest `keep` starts in [startMs, pastMs], and how many come before it. */
function newestMissed(schedule: Task['spec']['schedule'], next: (afterMs: number) => number | undefined, startMs: number, pastMs: number, keep: number): { startMs: number; skipped: number } {
  const timing = timingOf(schedule);
  if (timing.form === 'once') return { startMs, skipped: 0 };
  if (timing.form === 'grid') {
    const skipped = Math.max(0, Math.floor((pastMs - startMs) / timing.intervalMs) + 1 - keep);
    return { startMs: startMs + skipped * timing.intervalMs, skipped };
  }
  // Whole seconds, exclusive.
  const newest = timing.cron.previousRuns(keep, new Date(pastMs + 1000)).map((tick) => tick.getTime()).filter((ms) => ms >= startMs && ms <= pastMs);
  const firstMs = next((newest.at(-1) ?? startMs) - 1) ?? startMs;
  let skipped = 0;
  for (let at = startMs; at < firstMs; at = next(at) ?? firstMs) {
    skipped += 1;
    if (skipped === countedTicks) return { startMs: firstMs, skipped: Math.round(((firstMs - startMs) / (at - startMs)) * (countedTicks - 1)) };
  }
  return { startMs: firstMs, skipped };
}
