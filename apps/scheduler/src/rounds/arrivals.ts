import type { Expected } from './carrier.ts';

/** Runners whose pod is ready and that were not heard yet: each is waited for once and for a short time, so that one that never comes holds up nothing for long. */
export class Arrivals {
  readonly #waitMs: number;
  readonly #since = new Map<string, number>();

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** They are no runners of anybody any more. */
  forget(runners: Iterable<string>): void {
    for (const runner of runners) this.#since.delete(runner);
  }

  /** Milliseconds since the epoch; undefined when there is none to wait for. */
  waitUntil(runners: readonly Expected[], nowMs: number): number | undefined {
    let untilMs: number | undefined;
    for (const { runner, coming } of runners) {
      if (!coming) {
        this.#since.delete(runner);
        continue;
      }
      const sinceMs = this.#since.get(runner) ?? nowMs;
      this.#since.set(runner, sinceMs);
      const thisMs = sinceMs + this.#waitMs;
      if (thisMs > nowMs && thisMs > (untilMs ?? 0)) untilMs = thisMs;
    }
    return untilMs;
  }
}
