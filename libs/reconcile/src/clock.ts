/** Time as a port, so that rules about waiting can be tested in simulated time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls once after that many milliseconds (0 and less: soon); the answer cancels it. */
  after(ms: number, call: () => void): () => void;
}

/** setTimeout fires at once beyond this. */
const longest = 2 ** 31 - 1;

/** Timers of it do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      timer = setTimeout(() => (left > longest ? arm(left - longest) : call()), Math.min(Math.max(0, left), longest)).unref();
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** A clock that moves only when told; for tests. */
export class ManualClock implements Clock {
  #now: number;
  #sequence = 0;
  readonly #timers = new Map<number, { at: number; call: () => void }>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const id = this.#sequence++;
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), call });
    return () => void this.#timers.delete(id);
  }

  /** When the next timer is due; undefined without one. */
  next(): number | undefined {
    return this.#due()?.at;
  }

  /** Moves on, calling what becomes due in order; between calls promises get to run. */
  async advance(ms: number): Promise<void> {
    await settle();
    const until = this.#now + ms;
    for (let due = this.#due(); due !== undefined && due.at <= until; due = this.#due()) {
      this.#timers.delete(due.id);
      this.#now = Math.max(this.#now, due.at);
      due.call();
      await settle();
    }
    this.#now = until;
    await settle();
  }

  /** Moves on without calling anything: what a process that was away finds. */
  skip(ms: number): void {
    this.#now += ms;
  }

  #due(): { id: number; at: number; call: () => void } | undefined {
    let first: { id: number; at: number; call: () => void } | undefined;
    for (const [id, timer] of this.#timers) if (first === undefined || timer.at < first.at) first = { id, ...timer };
    return first;
  }
}

/** Lets promise chains that need no real I/O finish. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
