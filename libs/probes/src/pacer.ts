import { longestTimerMs } from './timer.ts';

/**
 * Timers are whole milliseconds and fire up to this late, so the pacer wakes this much earlier and polls the event loop for
 * the rest. Latencies count from the intended send time: without it each would carry a timer's millisecond. It costs this
 * much CPU time per send, at most one core from about 800 sends a second; nothing while no send is near.
 */
const timerSlackMs = 1.2;
/** Sends in one go after a stall, before the event loop gets to read answers again. */
const burst = 64;

export interface PacePlan {
  /** Milliseconds on the clock of performance.now(): when slot 0 is due. */
  start: number;
  /** Milliseconds from slot to slot; may be a fraction. */
  interval: number;
  count: number;
}

/**
 * Calls `due(slot)` for every slot of the plan, in order, each once, never before it is due. What a stall held up is
 * made up for at once afterwards, so the number of sends is exact and never ahead of the schedule.
 */
export class Pacer {
  readonly #plan: PacePlan;
  readonly #due: (slot: number, now: number) => void;
  readonly #finished = Promise.withResolvers<void>();
  #next = 0;
  #mostLateMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(plan: PacePlan, due: (slot: number, now: number) => void) {
    this.#plan = plan;
    this.#due = due;
  }

  /** By how much a slot was called after it was due, at the most, milliseconds. */
  get mostLateMs(): number {
    return this.#mostLateMs;
  }

  /** Resolves when every slot was called or `stop` was. */
  run(): Promise<void> {
    this.#tick();
    return this.#finished.promise;
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#next = this.#plan.count;
    this.#finished.resolve();
  }

  /** A property, so that polling does not allocate a function each time. */
  readonly #tick = (): void => {
    const { start, interval, count } = this.#plan;
    let now = performance.now();
    let sent = 0;
    if (this.#next < count) this.#mostLateMs = Math.max(this.#mostLateMs, now - (start + this.#next * interval));
    while (this.#next < count && start + this.#next * interval <= now) {
      if (sent === burst) {
        this.#immediate = setImmediate(this.#tick);
        return;
      }
      this.#due(this.#next++, now);
      sent += 1;
      now = performance.now();
    }
    if (this.#next >= count) {
      this.#finished.resolve();
      return;
    }
    const wait = start + this.#next * interval - now;
    if (wait > timerSlackMs + 1) this.#timer = setTimeout(this.#tick, Math.min(longestTimerMs, Math.floor(wait - timerSlackMs)));
    else this.#immediate = setImmediate(this.#tick);
  };
}
