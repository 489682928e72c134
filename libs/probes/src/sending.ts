import { Pacer } from './pacer.ts';
import type { TargetRun } from './target-run.ts';
import { after, afterTurning } from './timer.ts';

/** How long after the end of the schedule a request may still wait for room (a connection that its target keeps busy), milliseconds. */
const roomGraceMs = 100;

/** Times are milliseconds of performance.now(). */
export interface Schedule {
  /** When the first request is due. */
  readonly start: number;
  readonly durationMs: number;
  /** From a target's request to its next one. */
  readonly interval: number;
  /** Requests of each target. */
  readonly planned: number;
  /** Among how many targets the sends are spread: of those that cannot be addressed the gaps stay. */
  readonly lanes: number;
  /** When the last request must have ended, and how long each may take. */
  readonly over: number;
  readonly timeoutMs: number;
}

/**
 * After this nothing is sent, whatever held it up: an answer that takes all the time it may would come too late. Never before the schedule is over.
 */
export const latestSend = ({ start, durationMs, over, timeoutMs }: Schedule): number => Math.max(start + durationMs + roomGraceMs, over - timeoutMs);

/** When request `slot` of the target at `lane` is due. */
export const dueAt = ({ start, interval, lanes }: Schedule, lane: number, slot: number): number => start + (interval * lane) / lanes + slot * interval;

/**
 * Lets the requests of all targets leave; resolves when none is under way and none will be. What the prober itself held up (a core taken by others, a process
 * that was stopped) leaves late rather than never, at once, until `latestSend`. What still waits for room when the schedule is over is given a moment more,
 * and as much as the prober was late itself, not counting stalls in that time; then it stays unsent.
 */
export async function sendAll(runs: readonly TargetRun[], schedule: Schedule, signal: AbortSignal): Promise<void> {
  if (signal.aborted || runs.length === 0) return;
  const { start, durationMs, interval, planned, lanes } = schedule;
  // One loop for all targets: slot g belongs to target g mod n.
  const pacer = new Pacer({ start, interval: interval / lanes, count: planned * lanes }, (slot) => runs[slot % lanes]?.due());
  const stop = (): void => pacer.stop();
  const endSending = (): void => runs.forEach((run) => run.endSending());
  signal.addEventListener('abort', stop, { once: true });
  const offLatest = after(latestSend(schedule) - performance.now(), endSending);
  let offGrace = (): void => undefined;
  const giveGrace = (): void => void (offGrace = afterTurning(roomGraceMs + pacer.mostLateMs, endSending));
  try {
    const finished = Promise.all(runs.map((run) => run.finished()));
    await pacer.run();
    offGrace = after(start + durationMs - performance.now(), giveGrace);
    await finished;
  } finally {
    offLatest();
    offGrace();
    signal.removeEventListener('abort', stop);
  }
}
