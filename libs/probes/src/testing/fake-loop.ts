import { jest } from '@jest/globals';

interface Pending {
  readonly at: number;
  readonly call: () => void;
}

/** A time at which the process stands still, and for how long; milliseconds. */
export interface Stall {
  readonly at: number;
  readonly ms: number;
}

/** What one turn of the loop takes, milliseconds. */
const turnMs = 0.25;

/**
 * An event loop with a clock of its own, in the order of libuv: timers, what arrived, immediates. Time passes by what is done and waited for, and by
 * stalls; so nothing depends on the machine.
 */
export class FakeLoop {
  now = 0;
  readonly #stalls: Stall[];
  readonly #timers = new Set<Pending>();
  readonly #arriving = new Set<Pending>();
  #immediates = new Set<Pending>();

  constructor(stalls: readonly Stall[] = []) {
    this.#stalls = stalls.toSorted((a, b) => a.at - b.at);
  }

  /** Something comes in from the network so much later. */
  arrive(afterMs: number, call: () => void): void {
    this.#arriving.add({ at: this.now + afterMs, call });
  }

  /** Runs what `begin` starts until it has ended. */
  async run<T>(begin: () => Promise<T>): Promise<T> {
    const added = (to: () => Set<Pending>) => (call: () => void, ms = 0): Pending => {
      const pending = { at: this.now + ms, call };
      to().add(pending);
      return pending;
    };
    const removed = (pending: unknown): void => {
      for (const from of [this.#timers, this.#immediates]) from.delete(pending as Pending);
    };
    const mocks = [
      jest.spyOn(performance, 'now').mockImplementation(() => this.now),
      jest.spyOn(globalThis, 'setTimeout').mockImplementation(added(() => this.#timers) as never),
      jest.spyOn(globalThis, 'setImmediate').mockImplementation(added(() => this.#immediates) as never),
      jest.spyOn(globalThis, 'clearTimeout').mockImplementation(removed),
      jest.spyOn(globalThis, 'clearImmediate').mockImplementation(removed),
    ];
    try {
      const state = { over: false };
      const result = begin().finally(() => (state.over = true));
      while (!state.over) await this.#turn();
      return await result;
    } finally {
      for (const mock of mocks) mock.mockRestore();
    }
  }

  async #turn(): Promise<void> {
    this.now += turnMs;
    while (this.#stalls[0] !== undefined && this.#stalls[0].at <= this.now) this.now += this.#stalls.shift()!.ms;
    await this.#callDue(this.#timers);
    await this.#callDue(this.#arriving);
    const immediates = this.#immediates;
    this.#immediates = new Set();
    for (const { call } of immediates) {
      call();
      await settled();
    }
    if (this.#immediates.size > 0) return;
    const next = Math.min(...[...this.#timers, ...this.#arriving].map(({ at }) => at), this.#stalls[0]?.at ?? Number.POSITIVE_INFINITY);
    if (Number.isFinite(next)) this.now = Math.max(this.now, next);
  }

  async #callDue(pending: Set<Pending>): Promise<void> {
    for (const one of [...pending].toSorted((a, b) => a.at - b.at)) {
      if (one.at > this.now || !pending.delete(one)) continue;
      one.call();
      await settled();
    }
  }
}

/** Promises that follow from one another go first, as between two calls of a real loop. */
async function settled(): Promise<void> {
  for (let i = 0; i < 8; i += 1) await Promise.resolve();
}
