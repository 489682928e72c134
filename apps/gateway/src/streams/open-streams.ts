import { ApiError } from '@roundsman/api';

/** Streams to pods that are open, to bound, count and end them. */
export class OpenStreams {
  readonly #limit: number;
  readonly #open = new Map<symbol, { kind: string; abort: () => void }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Lets one more in, until the returned function is called; `abort` ends it from outside. Throws a 429 when too many are open. */
  admit(kind: string, abort: () => void): () => void {
    if (this.#open.size >= this.#limit) throw new ApiError('TooManyRequests', `${this.#limit} streams to pods are open, which is the limit; close one`);
    const key = Symbol(kind);
    this.#open.set(key, { kind, abort });
    return () => void this.#open.delete(key);
  }

  count(kind: string): number {
    return [...this.#open.values()].filter((one) => one.kind === kind).length;
  }

  abortAll(): void {
    for (const { abort } of this.#open.values()) abort();
  }
}
