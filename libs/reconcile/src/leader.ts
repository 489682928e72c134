/** A time during which this instance, and no other, leads. */
export interface Term {
  /** Resolves with why, once it is over. */
  readonly lost: Promise<string>;
  release(): Promise<void>;
}

/** Work that only the leader does. */
export interface LeaderWork {
  stop(): Promise<void>;
}

export interface LeaderGateOptions {
  /** Waits for the lock, through outages; rejects only when the signal aborts (libs/store, `acquireLeadership`). */
  readonly acquire: (signal: AbortSignal) => Promise<Term>;
  /**
   * Starts the work. Throwing gives the term back and tries again. What it hands to `onEnd` is called, last first, when the term
   * ends and also when the beginning fails half-way: hand each piece over before it starts. `over` aborts when the term ends, also while the
   * work begins: nothing is to start then.
   */
  readonly begin: (onEnd: (end: () => unknown) => void, over: AbortSignal) => Promise<LeaderWork | void>;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Milliseconds before the next try when the work could not begin. */
  readonly retryMs?: number;
}

/** Runs work while this instance leads: begins it when the lock is won, stops it when the lock is lost, waits again. */
export class LeaderGate {
  readonly #options: LeaderGateOptions;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #leading = false;

  constructor(options: LeaderGateOptions) {
    this.#options = options;
  }

  get leading(): boolean {
    return this.#leading;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Resolves when the work has stopped and the lock is free. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopping'), { once: true }));
    while (!signal.aborted) {
      let term: Term;
      try {
        term = await this.#options.acquire(signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      await this.#lead(term, stopped);
    }
  }

  async #lead(term: Term, stopped: Promise<string>): Promise<void> {
    const { begin, log, retryMs } = this.#options;
    const ends: (() => unknown)[] = [];
    const over = new AbortController();
    const ended = Promise.race([term.lost, stopped]);
    void ended.then((why) => over.abort(new Error(`the term is over: ${why}`)));
    let begun = false;
    try {
      const work = await begin((end) => ends.push(end), over.signal);
      if (work) ends.push(() => work.stop());
      begun = true;
      this.#leading = true;
      log.info({}, 'leading');
      log.info({ why: await ended }, 'no longer leading');
    } catch (error) {
      if (over.signal.aborted) log.info({ err: error }, 'the term ended before the work had begun');
      else log.warn({ err: error }, 'leader work could not begin; trying again');
    }
    this.#leading = false;
    for (const end of ends.reverse()) {
      try {
        await end();
      } catch (error) {
        log.warn({ err: error }, 'a part of the leader work did not end well');
      }
    }
    if (!begun) await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, retryMs ?? 1000).unref())]);
    await term.release();
  }
}
