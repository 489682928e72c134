import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '@roundsman/api';
import { PodIsGone } from '../intake/node-intake.ts';

export interface StatusWriterOptions {
  readonly send: (status: PodStatus) => Promise<Pod | undefined>;
  /** The pod as stored after a write. */
  readonly onStored: (pod: Pod) => void;
  readonly onGone: () => void;
  readonly onError: (error: unknown) => void;
}

const firstRetryMs = 200;
const longestRetryMs = 10_000;

/** Writes the status of one pod: at once, one write at a time, always the newest; what fails is tried again until it is in. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  #wanted: PodStatus | undefined;
  #written: PodStatus | undefined;
  #writing: Promise<void> | undefined;
  #stopped = false;
  #wakeRetry: () => void = () => undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** `stored` is the status as it is in the record: what equals it needs no write. */
  set(status: PodStatus, stored: PodStatus | undefined): void {
    if (this.#stopped || isDeepStrictEqual(status, this.#wanted)) return;
    if (this.#written === undefined && isDeepStrictEqual(plain(status), plain(stored))) this.#written = status;
    this.#wanted = status;
    if (this.#written !== status) this.#writing ??= this.#write();
  }

  /** What is on its way: newer than what is stored. */
  get pending(): PodStatus | undefined {
    return this.#writing === undefined ? undefined : this.#wanted;
  }

  /** Resolves when the newest status is in, or the pod is gone. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  stop(): void {
    this.#stopped = true;
    this.#wakeRetry();
  }

  async #write(): Promise<void> {
    let retryMs = firstRetryMs;
    // What is set in the same turn goes together.
    await Promise.resolve();
    while (!this.#stopped && this.#wanted !== undefined && this.#wanted !== this.#written) {
      const status = this.#wanted;
      try {
        const pod = await this.#options.send(status);
        this.#written = status;
        retryMs = firstRetryMs;
        if (pod !== undefined) this.#options.onStored(pod);
      } catch (error) {
        if (error instanceof PodIsGone) {
          this.#stopped = true;
          this.#options.onGone();
          break;
        }
        this.#options.onError(error);
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, longestRetryMs);
      }
    }
    this.#writing = undefined;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeRetry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** As it travels: without members that are undefined. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
