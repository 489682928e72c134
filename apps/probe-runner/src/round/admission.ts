import type { TaskKind } from '@roundsman/api';

/** What a round asks of the runner while it runs. */
export interface Load {
  readonly kind: TaskKind;
  /** Requests per second over all its targets. */
  readonly qps: number;
}

interface Waiting {
  readonly load: Load;
  readonly admit: () => void;
}

/**
 * Lets rounds run as far as the runner's capacity goes; the others wait in the order they came, so a large one is not
 * overtaken for ever. A round that alone asks for more than the capacity runs when nothing else does.
 */
export class Admission {
  readonly capacityQps: number;
  readonly #mostRounds: number;
  readonly #running = new Set<Load>();
  readonly #waiting = new Set<Waiting>();

  constructor(capacityQps: number, mostRounds: number) {
    this.capacityQps = capacityQps;
    this.#mostRounds = mostRounds;
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get qps(): number {
    return [...this.#running].reduce((sum, { qps }) => sum + qps, 0);
  }

  /** Requests per second of everything that runs now, per kind. */
  loadByKind(): Partial<Record<TaskKind, number>> {
    const loads: Partial<Record<TaskKind, number>> = {};
    for (const { kind, qps } of this.#running) loads[kind] = (loads[kind] ?? 0) + qps;
    return loads;
  }

  /** Resolves to the function that gives the place back; rejects with the signal's reason. */
  async enter(load: Load, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#waiting.size > 0 || !this.#fits(load)) await this.#queue(load, signal);
    else this.#running.add(load);
    return () => {
      this.#running.delete(load);
      this.#next();
    };
  }

  async #queue(load: Load, signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = {
      load,
      admit: () => {
        this.#running.add(load);
        turn.resolve();
      },
    };
    const leave = (): void => {
      if (!this.#waiting.delete(waiting)) return;
      turn.reject(signal.reason);
      this.#next();
    };
    this.#waiting.add(waiting);
    signal.addEventListener('abort', leave, { once: true });
    await turn.promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #fits({ qps }: Load): boolean {
    if (this.#running.size === 0) return true;
    return this.#running.size < this.#mostRounds && this.qps + qps <= this.capacityQps;
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.load)) return;
      this.#waiting.delete(waiting);
      waiting.admit();
    }
  }
}
