import { systemClock, type Clock } from './clock.ts';
import { WorkQueue, type Reconcile } from './work-queue.ts';

export interface ControllerOptions {
  /** In logs and metrics: `task-status`. */
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Every key there is now: worked through at start and again every `resyncMs`, in case a wake-up was lost or the wall clock jumped. */
  readonly keys: () => Iterable<string>;
  readonly resyncMs?: number;
  readonly concurrency?: number;
  readonly backOff?: { readonly baseMs: number; readonly maxMs: number };
  readonly clock?: Clock;
  readonly log?: { warn(fields: object, message: string): void };
  /** One look ended, after so many seconds. */
  readonly onLook?: (seconds: number, ok: boolean) => void;
}

/** A level-triggered loop: wakes name a key, `reconcile` reads the rows. The same code runs at start, after a change and on a timer. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  #resync: (() => void) | undefined;
  #stopped = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { name, log, concurrency, backOff } = options;
    this.#queue = new WorkQueue({
      reconcile: (key) => this.#look(key),
      clock: this.#clock,
      onError: (key, error, failures, delayMs) => log?.warn({ err: error, controller: name, key, failures, delayMs: Math.round(delayMs) }, 'reconcile failed; trying again'),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(backOff === undefined ? {} : { backOff }),
    });
  }

  get depth(): number {
    return this.#queue.depth;
  }

  get failing(): number {
    return this.#queue.failing;
  }

  start(): void {
    this.#queue.start();
    this.#pass();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#resync?.();
    await this.#queue.stop();
  }

  wake(key: string): void {
    this.#queue.add(key);
  }

  #pass(): void {
    if (this.#stopped) return;
    for (const key of this.#options.keys()) this.#queue.add(key);
    this.#resync = this.#clock.after(this.#options.resyncMs ?? 60_000, () => this.#pass());
  }

  async #look(key: string): Promise<{ againAfterMs?: number } | void> {
    const { reconcile, onLook } = this.#options;
    const begun = this.#clock.now();
    try {
      const outcome = await reconcile(key);
      onLook?.((this.#clock.now() - begun) / 1000, true);
      return outcome;
    } catch (error) {
      onLook?.((this.#clock.now() - begun) / 1000, false);
      throw error;
    }
  }
}
