import { roundAnnotations, type KubeObject, type Round, type TaskStatus } from '@roundsman/api';

/** Every task kind, seen alike: what the rules of scheduling read of it. */
export interface TaskSpec {
  readonly suspend: boolean;
  readonly schedule: {
    readonly schedule?: string | undefined;
    readonly startAfterSeconds?: number | undefined;
    readonly intervalSeconds?: number | undefined;
    readonly timeZone?: string | undefined;
    readonly roundTimeoutMinute?: number | undefined;
    readonly roundTimeoutSeconds?: number | undefined;
    readonly roundNumber?: number | undefined;
  };
  readonly request: { readonly durationInSecond: number; readonly qps: number; readonly perRequestTimeoutInMS: number };
}
export type Task = KubeObject<TaskSpec, TaskStatus>;

/** What has been done for a task so far. */
export interface Ledger {
  /** Highest round number given; 0 before the first. */
  readonly lastNumber: number;
  /** Of those, the rounds of the schedule (missed ones included); the others were extra. */
  readonly scheduled: number;
  /** Milliseconds; the grid point of the last round of the schedule. */
  readonly lastScheduledMs: number | undefined;
  readonly handledRunNow: string;
  /** Generation of the task when its last round was made; 1 before the first. */
  readonly generation: number;
}

/** A round is open until it is known how it ended. Missed ones are recorded, never run. */
export const isOpen = (round: Round): boolean => round.spec.trigger !== 'missed' && (round.status?.state ?? 'ongoing') === 'ongoing';

/** From the task's Rounds; from its status when somebody has deleted them all, so that no number is ever used twice. */
export function ledgerOf(task: Task, rounds: readonly Round[]): Ledger {
  let last: Round | undefined;
  for (const round of rounds) if (last === undefined || round.spec.number > last.spec.number) last = round;
  if (last === undefined) return ledgerOfStatus(task);
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

function ledgerOfStatus({ spec, status }: Task): Ledger {
  const newest = status?.history?.[0];
  const lastNumber = Math.max(status?.doneRound ?? 0, newest?.roundNumber ?? 0);
  const expected = status?.expectedRound ?? -1;
  const extras = expected < 0 ? 0 : Math.max(0, expected - (spec.schedule.roundNumber ?? 1));
  return {
    lastNumber,
    scheduled: Math.max(0, lastNumber - extras),
    lastScheduledMs: newest === undefined ? undefined : Date.parse(newest.startTimeStamp),
    handledRunNow: status?.handledRunNow ?? '',
    generation: lastNumber === 0 ? 1 : (status?.observedGeneration ?? 1),
  };
}
