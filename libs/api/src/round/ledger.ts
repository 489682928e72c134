import type { KubeObject } from '../meta.ts';
import { timingOf, type ScheduleForm } from '../schedule.ts';
import { roundAnnotations, type Round, type TaskStatus } from '../kinds/task.ts';

/** Every task kind, seen alike: what scheduling reads of its spec. */
export interface AnyTaskSpec {
  readonly suspend?: boolean;
  readonly schedule: ScheduleForm & { readonly roundNumber?: number | undefined };
  readonly request: { readonly durationInSecond: number; readonly qps: number; readonly perRequestTimeoutInMS: number };
}
export type AnyTask = KubeObject<AnyTaskSpec, TaskStatus>;

/** What has been done for a task so far. */
export interface Ledger {
  /** Highest round number given; 0 before the first. */
  readonly lastNumber: number;
  /** Of those, the rounds of the schedule (missed ones included); the others were extra. */
  readonly scheduled: number;
  /** Milliseconds; start of the last round of the schedule, a point of its grid. */
  readonly lastScheduledMs: number | undefined;
  /** The run-now value acted on; '' when none was. */
  readonly handledRunNow: string;
  /** Generation of the task when its last round was made; 1 before the first. */
  readonly generation: number;
}

/** A round is open until it is known how it ended. Missed ones are recorded, never run. */
export const isOpenRound = (round: Round): boolean => round.spec.trigger !== 'missed' && (round.status?.state ?? 'ongoing') === 'ongoing';

/** Rounds the schedule has; Infinity for ever. Without a schedule there is one. */
export function totalRounds(schedule: AnyTaskSpec['schedule']): number {
  if (timingOf(schedule).form === 'once') return 1;
  const total = schedule.roundNumber ?? 1;
  return total < 0 ? Number.POSITIVE_INFINITY : total;
}

/** From the task's Rounds; from its status when somebody has deleted the newest of them, so that no number is ever used twice. */
export function ledgerOf(task: AnyTask, rounds: readonly Round[]): Ledger {
  let last: Round | undefined;
  for (const round of rounds) if (last === undefined || round.spec.number > last.spec.number) last = round;
  const fromStatus = ledgerOfStatus(task);
  if (last === undefined || fromStatus.lastNumber > last.spec.number) return fromStatus;
  const annotations = last.metadata.annotations ?? {};
  const start = annotations[roundAnnotations.lastScheduledStart];
  return {
    lastNumber: last.spec.number,
    scheduled: Number(annotations[roundAnnotations.scheduled] ?? 0),
    lastScheduledMs: start === undefined ? undefined : Date.parse(start),
    handledRunNow: annotations[roundAnnotations.runNow] ?? '',
    generation: last.spec.taskRef.generation,
  };
}

function ledgerOfStatus({ spec, status }: AnyTask): Ledger {
  const newest = status?.history?.[0];
  const lastNumber = Math.max(status?.doneRound ?? 0, newest?.roundNumber ?? 0);
  const expected = status?.expectedRound ?? -1;
  const total = totalRounds(spec.schedule);
  const extras = expected < 0 || total === Number.POSITIVE_INFINITY ? 0 : Math.max(0, expected - total);
  return {
    lastNumber,
    scheduled: Math.max(0, lastNumber - extras),
    lastScheduledMs: newest === undefined ? undefined : Date.parse(newest.startTimeStamp),
    handledRunNow: status?.handledRunNow ?? '',
    generation: lastNumber === 0 ? 1 : (status?.observedGeneration ?? 1),
  };
}
