import { systemClock, type Clock } from './clock.ts';

export interface Outcome {
  /** Look at this key again after so many milliseconds, if nothing wakes it before. */
  readonly againAfterMs?: number;
}

/** Brings the world nearer to what the rows behind `key` say. Reads whole state, writes the difference; may be called any number of times. */
export type Reconcile = (key: string) => Promise<Outcome | void>;

export interface WorkQueueOptions {
  readonly reconcile: Reconcile;
  /** Keys worked on at the same time; one key never twice at once. Default 1. */
  readonly concurrency?: number;
  /** After the n-th failure in a row a key waits min(maxMs, baseMs * 2^(n-1)), of which up to half is random. */
  readonly backOff?: { readonly baseMs: number; readonly maxMs: number };
  readonly clock?: Clock;
  /** 0..1, for the jitter. */
  readonly random?: () => number;
  /** A reconcile threw; the key will be tried again after `delayMs`. */
  readonly onError?: (key: string, error: unknown, failures: number, delayMs: number) => void;
}

/**
 * Keys that need a look, each at most once in the queue. A key added while it is worked on is looked at once more after that,
 * so no change is missed; a failed key comes back after a growing delay.
 */
export class WorkQueue {
  readonly #options: Required<Omit<WorkQueueOptions, 'onError'>> & Pick<WorkQueueOptions, 'onError'>;
  /** Insertion order is the order of work. */
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Added again while running. */
  readonly #dirty = new Set<string>();
  readonly #timers = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  /** Since the start. */
  readonly counts = { done: 0, failed: 0 };

  constructor(options: WorkQueueOptions) {
    this.#options = { concurrency: 1, backOff: { baseMs: 50, maxMs: 30_000 }, clock: systemClock, random: Math.random, ...options };
  }

  /** Keys that wait for a free place. */
  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys whose last look failed. */
  get failing(): number {
    return this.#failures.size;
  }

  start(): void {
    if (this.#state !== 'idle') throw new Error(`a work queue starts once; this one is ${this.#state}`);
    this.#state = 'started';
    this.#pump();
  }

  /** Nothing new begins; resolves when what is running has ended. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    await Promise.all(this.#running.values());
  }

  add(key: string): void {
    if (this.#state === 'stopped') return;
    if (this.#running.has(key)) {
      this.#dirty.add(key);
      return;
    }
    this.#waiting.add(key);
    this.#pump();
  }

  /** The earlier of two times set for a key counts. */
  addAfter(key: string, ms: number): void {
    if (this.#state === 'stopped') return;
    const { clock } = this.#options;
    const at = clock.now() + ms;
    const set = this.#timers.get(key);
    if (set !== undefined && set.at <= at) return;
    set?.cancel();
    const cancel = clock.after(ms, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, cancel });
  }

  #pump(): void {
    if (this.#state !== 'started') return;
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      // A look sees everything and says anew when to come back.
      this.#timers.get(key)?.cancel();
      this.#timers.delete(key);
      this.#running.set(key, this.#work(key));
    }
  }

  async #work(key: string): Promise<void> {
    const { reconcile, backOff, random, onError } = this.#options;
    let againAfterMs: number | undefined;
    try {
      // In a later tick, so that whoever adds keys is never inside a reconcile.
      await Promise.resolve();
      againAfterMs = (await reconcile(key))?.againAfterMs;
      this.#failures.delete(key);
      this.counts.done += 1;
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.counts.failed += 1;
      const delay = Math.min(backOff.maxMs, backOff.baseMs * 2 ** Math.min(failures - 1, 30));
      againAfterMs = delay / 2 + (delay / 2) * random();
      onError?.(key, error, failures, againAfterMs);
    }
    this.#running.delete(key);
    if (this.#dirty.delete(key)) this.#waiting.add(key);
    if (againAfterMs !== undefined) this.addAfter(key, againAfterMs);
    this.#pump();
  }
}
