import {
  countsFromMs, isOpenRound, ledgerOf, nextStart, roundAnnotations, ScheduleError, taskAnnotations, timingOf, totalRounds,
  type AnyTask, type Condition, type Round, type RoundRecord, type TaskStatus, type VerdictState,
} from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';
import { resourceOf, runtimeReady, type Carrier } from './carrier.ts';
import { dueMs, lacks, type Patience } from './waiting.ts';

export const historyKept = 10;

/** Go's duration notation, milliseconds at the finest: `1m2.5s`. */
export function goDuration(ms: number): string {
  const total = Math.max(0, Math.round(ms));
  const hours = Math.floor(total / 3_600_000);
  const minutes = Math.floor(total / 60_000) % 60;
  const seconds = (total % 60_000) / 1000;
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

/**
 * The whole status of a task from its Rounds, who carries it and the clock; the same rows give the same status.
 * A schedule that cannot work (stored by a version with other rules) is told in the condition `Scheduled`.
 */
export function taskStatusOf(task: AnyTask, rounds: readonly Round[], carrier: Carrier, nowMs: number, patience: Patience): TaskStatus {
  try {
    return computed(task, rounds, carrier, nowMs, patience);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    return withoutSchedule(task, rounds, carrier, error, nowMs);
  }
}

/** What is known all the same; numbers that come from the schedule stay as they were. */
function withoutSchedule(task: AnyTask, rounds: readonly Round[], carrier: Carrier, problem: ScheduleError, nowMs: number): TaskStatus {
  const newestFirst = [...rounds].sort((a, b) => b.spec.number - a.spec.number);
  const open = newestFirst.find(isOpenRound);
  const lastClosed = newestFirst.find((round) => !isOpenRound(round));
  const { nextRoundTime: _next, finishTime: _finished, ...before } = task.status ?? {};
  const lastRoundStatus = lastClosed === undefined ? task.status?.lastRoundStatus : outcomeOf(lastClosed);
  const facts = { open, carrier, finish: false, total: Number.POSITIVE_INFINITY, next: undefined, waits: undefined, lastRoundStatus, lastClosed, nowMs };
  const message = `spec.schedule.${problem.field} ${problem.message}. No round starts until it is corrected.`;
  return {
    ...before,
    observedGeneration: task.metadata.generation,
    finish: false,
    ...(lastRoundStatus === undefined ? {} : { lastRoundStatus }),
    history: historyOf(task, newestFirst, nowMs),
    conditions: withTimes(task, [{ type: 'Scheduled', status: 'False', reason: 'InvalidSchedule', message }, runtimeReady(carrier, false), progressing(facts), complete(facts), healthy(facts), suspended(task)], nowMs),
  };
}

function computed(task: AnyTask, rounds: readonly Round[], carrier: Carrier, nowMs: number, patience: Patience): TaskStatus {
  const newestFirst = [...rounds].sort((a, b) => b.spec.number - a.spec.number);
  const ledger = ledgerOf(task, newestFirst);
  const open = newestFirst.filter(isOpenRound);
  const total = totalRounds(task.spec.schedule);
  const extras = ledger.lastNumber - ledger.scheduled;
  const asked = task.metadata.annotations?.[taskAnnotations.runNow] ?? '';
  const finish = ledger.scheduled >= total && open.length === 0 && (asked === '' || asked === ledger.handledRunNow);
  const history = historyOf(task, newestFirst, nowMs);
  const lastClosed = newestFirst.find((round) => !isOpenRound(round));
  const lastRoundStatus = lastClosed === undefined ? task.status?.lastRoundStatus : outcomeOf(lastClosed);
  const fromMs = countsFromMs(task, carrier);
  const left = ledger.scheduled < total && task.spec.suspend !== true;
  const runNow = asked !== '' && asked !== ledger.handledRunNow;
  const due = left && fromMs !== undefined ? dueMs(task, fromMs, ledger.lastScheduledMs, nowMs) : undefined;
  // The present one is told while it runs; then what the next one lacks.
  const waits = open.length === 0 && (runNow || due !== undefined || (left && fromMs === undefined)) ? lacks(task, carrier, ledger.lastNumber + 1, runNow ? undefined : due, patience) : undefined;
  const next = waits !== undefined && !runNow && due !== undefined ? due : nextRoundMs(task, fromMs, ledger.lastScheduledMs, ledger.scheduled < total, nowMs);
  const finishTime = history.find(({ endTimeStamp }) => endTimeStamp !== undefined)?.endTimeStamp;
  const handledCancel = handledCancelOf(task, open);
  return {
    observedGeneration: task.metadata.generation,
    expectedRound: total === Number.POSITIVE_INFINITY ? -1 : total + extras,
    doneRound: ledger.lastNumber - open.length,
    finish,
    ...(finish && finishTime !== undefined ? { finishTime } : {}),
    ...(lastRoundStatus === undefined ? {} : { lastRoundStatus }),
    ...(next === undefined ? {} : { nextRoundTime: wholeSeconds(next) }),
    ...(ledger.handledRunNow === '' ? {} : { handledRunNow: ledger.handledRunNow }),
    ...(handledCancel === undefined ? {} : { handledCancel }),
    history,
    conditions: conditionsOf(task, { open: open[0], carrier, finish, total, next, waits, lastRoundStatus, lastClosed, nowMs }),
    resource: resourceOf(task, carrier, finish),
  };
}

/** When the status will look different without any row changing; undefined when it will not. */
export function statusChangesAtMs(task: AnyTask, rounds: readonly Round[], nowMs: number): number | undefined {
  const starts = rounds.filter(isOpenRound).map(({ spec }) => Date.parse(spec.startTime));
  const next = task.status?.nextRoundTime;
  if (next !== undefined) starts.push(Date.parse(next) + 1000);
  const ahead = starts.filter((ms) => ms > nowMs);
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}

function nextRoundMs(task: AnyTask, fromMs: number | undefined, lastScheduledMs: number | undefined, left: boolean, nowMs: number): number | undefined {
  const { schedule, suspend } = task.spec;
  if (!left || suspend === true || fromMs === undefined) return undefined;
  const next = nextStart(schedule, fromMs, lastScheduledMs);
  // Past, and no round of it yet: it is about to be made, or recorded as missed.
  if (next === undefined || next >= nowMs || timingOf(schedule).form === 'once') return next;
  return nextStart(schedule, fromMs, nowMs);
}

function handledCancelOf(task: AnyTask, open: readonly Round[]): string | undefined {
  const asked = task.metadata.annotations?.[taskAnnotations.cancel] ?? '';
  const waits = open.some(({ metadata, spec }) => spec.cancel !== true && (metadata.annotations?.[roundAnnotations.cancel] ?? '') !== asked);
  return asked !== '' && !waits ? asked : task.status?.handledCancel;
}

/** The last ten; what is known only from an earlier status (its Round object is gone) is kept. */
function historyOf(task: AnyTask, newestFirst: readonly Round[], nowMs: number): RoundRecord[] {
  const records = newestFirst.map((round) => recordOf(round, nowMs));
  const known = new Set(records.map(({ roundNumber }) => roundNumber));
  const older = (task.status?.history ?? []).filter(({ roundNumber, status }) => !known.has(roundNumber) && status !== 'ongoing' && status !== 'notstarted');
  return [...records, ...older].sort((a, b) => b.roundNumber - a.roundNumber).slice(0, historyKept);
}

function recordOf(round: Round, nowMs: number): RoundRecord {
  const { spec, status } = round;
  const startMs = Date.parse(spec.startTime);
  const state = isOpenRound(round) ? (nowMs < startMs ? 'notstarted' : 'ongoing') : outcomeOf(round);
  const closedMs = status?.closedAt === undefined ? undefined : Date.parse(status.closedAt);
  const failureReason = spec.trigger === 'missed' ? 'missed: its time passed while nothing could run it' : state === 'fail' || state === 'canceled' ? status?.summary : undefined;
  return {
    roundNumber: spec.number,
    status: state,
    ...(failureReason === undefined ? {} : { failureReason }),
    startTimeStamp: wholeSeconds(startMs),
    deadLineTimeStamp: wholeSeconds(Date.parse(spec.deadline)),
    ...(closedMs === undefined ? {} : { endTimeStamp: wholeSeconds(closedMs), duration: goDuration(spec.trigger === 'missed' ? 0 : closedMs - startMs) }),
    expectedActorNumber: spec.runners.length,
    succeedAgentNodeList: status?.succeeded ?? [],
    failedAgentNodeList: status?.failed ?? [],
    // Of a runner that found no node there is none to name.
    notReportAgentNodeList: [...new Set((status?.missing ?? []).map(({ node }) => node).filter((node) => node !== ''))],
  };
}

/** Of a closed round. A missed one is a failure: nobody knows how the cluster was. */
function outcomeOf({ status }: Round): 'succeed' | 'fail' | 'canceled' {
  return status?.state === 'succeed' || status?.state === 'canceled' ? status.state : 'fail';
}

interface Facts {
  readonly carrier: Carrier;
  readonly open: Round | undefined;
  readonly finish: boolean;
  readonly total: number;
  readonly next: number | undefined;
  /** Why a round that is due does not begin. */
  readonly waits: Draft | undefined;
  readonly lastRoundStatus: TaskStatus['lastRoundStatus'];
  readonly lastClosed: Round | undefined;
  readonly nowMs: number;
}

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function conditionsOf(task: AnyTask, facts: Facts): Condition[] {
  return withTimes(task, [scheduled(task, facts), runtimeReady(facts.carrier, facts.finish), progressing(facts), complete(facts), healthy(facts), suspended(task)], facts.nowMs);
}

function withTimes(task: AnyTask, drafts: readonly Draft[], nowMs: number): Condition[] {
  const before = new Map((task.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  return drafts.map((draft) => {
    const old = before.get(draft.type);
    return {
      ...draft,
      observedGeneration: task.metadata.generation,
      lastTransitionTime: old !== undefined && old.status === draft.status ? old.lastTransitionTime : wholeSeconds(nowMs),
    };
  });
}

function scheduled(task: AnyTask, { finish, next, waits, open }: Facts): Draft {
  const type = 'Scheduled';
  if (waits !== undefined) return waits;
  if (next !== undefined) return { type, status: 'True', reason: 'RoundScheduled', message: `The next round starts at ${wholeSeconds(next)}.` };
  if (task.spec.suspend === true) return { type, status: 'False', reason: 'Suspended', message: 'No new rounds start while spec.suspend is true.' };
  if (finish) return { type, status: 'False', reason: 'Finished', message: 'All rounds are done.' };
  return { type, status: 'True', reason: open === undefined ? 'RoundDue' : 'LastRoundRunning', message: open === undefined ? 'A round is due.' : 'The last round is running.' };
}

function progressing({ open, finish, total, nowMs }: Facts): Draft {
  const type = 'Progressing';
  if (open !== undefined && nowMs >= Date.parse(open.spec.startTime)) {
    const ready = open.spec.runners.filter(({ notReady }) => notReady === undefined).length;
    const of = total === Number.POSITIVE_INFINITY ? '' : ` of ${Math.max(total, open.spec.number)}`;
    return { type, status: 'True', reason: open.spec.cancel === true ? 'RoundCanceling' : 'RoundRunning', message: `Round ${open.spec.number}${of} runs on ${ready} of ${open.spec.runners.length} runners.` };
  }
  return { type, status: 'False', reason: finish ? 'Finished' : 'Waiting', message: finish ? 'All rounds are done.' : 'No round is running.' };
}

function complete({ finish }: Facts): Draft {
  return finish
    ? { type: 'Complete', status: 'True', reason: 'Finished', message: 'All rounds are done.' }
    : { type: 'Complete', status: 'False', reason: 'RoundsLeft', message: 'There are rounds to come.' };
}

const healthByVerdict: Record<VerdictState, Pick<Condition, 'status' | 'reason'>> = {
  healthy: { status: 'True', reason: 'Healthy' },
  degraded: { status: 'False', reason: 'Degraded' },
  broken: { status: 'False', reason: 'Broken' },
  // Nothing bad was seen, but not by all, or not by those that can be trusted: that is no health.
  incomplete: { status: 'Unknown', reason: 'RunnersMissing' },
  suspect: { status: 'Unknown', reason: 'ProberStarved' },
};

function healthy({ lastRoundStatus, lastClosed }: Facts): Draft {
  const type = 'Healthy';
  const message = lastClosed?.status?.summary ?? '';
  if (lastClosed?.spec.trigger === 'missed') return { type, status: 'Unknown', reason: 'RoundMissed', message: 'The last round was missed.' };
  if (lastRoundStatus === 'canceled') return { type, status: 'Unknown', reason: 'RoundCanceled', message: message || 'The last round was canceled.' };
  const verdict = lastClosed?.status?.verdict;
  const untestedOnly = verdict === 'incomplete' && (lastClosed?.spec.notTested ?? []).length > 0 && (lastClosed?.status?.missing ?? []).length === 0;
  if (untestedOnly) return { type, status: 'Unknown', reason: 'PartsNotTested', message: message || 'Parts of the task could not be tested.' };
  if (verdict !== undefined) return { type, ...healthByVerdict[verdict], message: message || `The last round was ${verdict}.` };
  if (lastRoundStatus === 'succeed') return { type, status: 'True', reason: 'RoundSucceeded', message: message || 'The last round succeeded.' };
  if (lastRoundStatus === 'fail') return { type, status: 'False', reason: 'RoundFailed', message: message || 'The last round failed.' };
  return { type, status: 'Unknown', reason: 'NoRoundYet', message: 'No round is done yet.' };
}

function suspended(task: AnyTask): Draft {
  return task.spec.suspend === true
    ? { type: 'Suspended', status: 'True', reason: 'Suspended', message: 'spec.suspend is true.' }
    : { type: 'Suspended', status: 'False', reason: 'NotSuspended', message: 'spec.suspend is false.' };
}
