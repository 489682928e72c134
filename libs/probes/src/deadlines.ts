import { longestTimerMs } from './timer.ts';

/** What can expire: a link of the list below. */
export interface Timed {
  deadline: number;
  previous: Timed | undefined;
  next: Timed | undefined;
}

/**
 * For an answer that was read after its deadline, before the timer came to say so: by then it was too late, whether the
 * target or this process is to blame (a stall of this process makes the round suspect).
 */
export const lateAnswer = (timeoutMs: number): string => `answered, but not within ${timeoutMs} ms`;

/**
 * Deadlines of exchanges that all have the same timeout: a list in order of start, one timer for its head. Adding and
 * removing is O(1) and touches no timer.
 */
export class Deadlines<T extends Timed> {
  readonly #timeoutMs: number;
  readonly #expired: (item: T, now: number) => void;
  #head: Timed | undefined;
  #tail: Timed | undefined;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;

  constructor(timeoutMs: number, expired: (item: T, now: number) => void) {
    this.#timeoutMs = timeoutMs;
    this.#expired = expired;
  }

  add(item: T, now: number): void {
    item.deadline = now + this.#timeoutMs;
    item.previous = this.#tail;
    item.next = undefined;
    if (this.#tail === undefined) this.#head = item;
    else this.#tail.next = item;
    this.#tail = item;
    if (this.#timer === undefined && this.#check === undefined) this.#arm(this.#timeoutMs);
  }

  remove(item: T): void {
    if (item.previous === undefined && item.next === undefined && this.#head !== item) return;
    if (item.previous === undefined) this.#head = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.#tail = item.previous;
    else item.next.previous = item.previous;
    item.previous = undefined;
    item.next = undefined;
  }

  /** Takes out every item, in order of start, and hands it over. */
  drain(take: (item: T) => void): void {
    while (this.#head !== undefined) {
      const item = this.#head as T;
      this.remove(item);
      take(item);
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
    this.#timer = undefined;
    this.#check = undefined;
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // After a stall of this process the answers may lie in the socket already: read first, so that what came and how is known.
      this.#check = setImmediate(() => {
        this.#check = undefined;
        this.#sweep();
      });
      // A sweep that comes too early arms the timer again.
    }, Math.min(longestTimerMs, Math.max(1, Math.ceil(ms))));
  }

  #sweep(): void {
    const now = performance.now();
    while (this.#head !== undefined && this.#head.deadline <= now) {
      const item = this.#head as T;
      this.remove(item);
      this.#expired(item, now);
    }
    if (this.#head !== undefined && this.#timer === undefined) this.#arm(this.#head.deadline - now);
  }
}
