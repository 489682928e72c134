import type { ProbeError } from './errors.ts';
import type { Prober } from './probe.ts';
import type { Recorder } from './recorder.ts';

/** Where requests go while their target has no address: each fails as soon as it is due, and nothing goes on the wire. */
export class Nowhere implements Prober {
  readonly gathers = false;
  readonly inFlight = 0;
  readonly #error: ProbeError;
  readonly #record: Recorder;
  readonly #missed: () => void;

  /** `missed` is called for each request that failed. */
  constructor(error: ProbeError, record: Recorder, missed: () => void) {
    this.#error = error;
    this.#record = record;
    this.#missed = missed;
  }

  hasRoom(): boolean {
    return true;
  }

  start(intended: number, now: number): void {
    this.#record.failure(intended, now, this.#error.code, this.#error.message);
    this.#missed();
  }

  cancel(): void {}

  close(): void {}
}
