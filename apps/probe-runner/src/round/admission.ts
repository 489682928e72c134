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
 * On top of the capacity and of the number of rounds, this share of each is for small rounds while a large one waits: what
 * passes it takes none of the place it waits for, so neither the small ones nor the large one can starve.
 */
const passing = { qps: 0.1, rounds: 0.25 } as const;

/** The runner could not carry the round even if it did nothing else. */
export class OverCapacity extends Error {
  override name = 'OverCapacity';
}

/**
 * Lets rounds run as far as the runner's capacity goes; the others wait in the order they came. While the first of them
 * does not fit, small ones behind it may pass within a share of their own.
 */
export class Admission {
  readonly capacityQps: number;
  readonly #mostRounds: number;
  readonly #running = new Set<Load>();
  /** Those that passed a waiting round: they count for the passing share only. */
  readonly #passing = new Set<Load>();
  readonly #waiting = new Set<Waiting>();

  constructor(capacityQps: number, mostRounds: number) {
    this.capacityQps = capacityQps;
    this.#mostRounds = mostRounds;
  }

  get running(): number {
    return this.#running.size + this.#passing.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get qps(): number {
    return qpsOf(this.#running) + qpsOf(this.#passing);
  }

  /** Requests per second of everything that runs now, per kind. */
  loadByKind(): Partial<Record<TaskKind, number>> {
    const loads: Partial<Record<TaskKind, number>> = {};
    for (const { kind, qps } of [...this.#running, ...this.#passing]) loads[kind] = (loads[kind] ?? 0) + qps;
    return loads;
  }

  /** Throws `OverCapacity` when there could never be a place. */
  refuseImpossible({ qps }: Load): void {
    if (qps <= this.capacityQps) return;
    throw new OverCapacity(
      `the round asks for ${qps} requests per second over all its targets, the capacity of this runner is ${this.capacityQps}: lower qps, choose fewer targets, or raise it (ROUNDSMAN_CONTROLLERS_RUNNER_CAPACITY_QPS for runners in pods, ROUNDSMAN_NODE_AGENT_RUNNER_CAPACITY_QPS for processes of agents)`,
    );
  }

  /**
   * Resolves to the function that gives the place back; rejects with the signal's reason, and with `OverCapacity` at once
   * when there could never be a place.
   */
  async enter(load: Load, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.refuseImpossible(load);
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = { load, admit: turn.resolve };
    const leave = (): void => {
      if (!this.#waiting.delete(waiting)) return;
      turn.reject(signal.reason);
      this.#next();
    };
    this.#waiting.add(waiting);
    signal.addEventListener('abort', leave, { once: true });
    this.#next();
    await turn.promise.finally(() => signal.removeEventListener('abort', leave));
    return () => {
      this.#running.delete(load);
      this.#passing.delete(load);
      this.#next();
    };
  }

  #next(): void {
    let blocked = false;
    for (const waiting of this.#waiting) {
      const { load } = waiting;
      if (!blocked && fits(load, this.#running, this.capacityQps, this.#mostRounds)) this.#running.add(load);
      else if (blocked && fits(load, this.#passing, this.capacityQps * passing.qps, Math.max(1, this.#mostRounds * passing.rounds))) this.#passing.add(load);
      else {
        blocked = true;
        continue;
      }
      this.#waiting.delete(waiting);
      waiting.admit();
    }
  }
}

function fits({ qps }: Load, among: ReadonlySet<Load>, mostQps: number, mostRounds: number): boolean {
  return among.size + 1 <= mostRounds && qpsOf(among) + qps <= mostQps;
}

function qpsOf(loads: ReadonlySet<Load>): number {
  let sum = 0;
  for (const { qps } of loads) sum += qps;
  return sum;
}
