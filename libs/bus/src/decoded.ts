import type { z } from 'zod';
import { decodeJson } from './codec.ts';

/** Messages kept for those that have not had them yet, and their bytes. */
const mostKept = 256;
const mostBytes = 1 << 20;

interface Kept {
  readonly data: Uint8Array;
  readonly payload: unknown;
  /** Subscriptions that may still come for it. */
  left: number;
}

/**
 * Decodes what several subscriptions of one process receive alike once for all of them: several services in a process follow the
 * changes, each over a connection of its own. They get the same payload, which none of them may change.
 */
export class SharedDecoder {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #subscriptions = 0;

  /** One more subscription, until the returned function is called. */
  join(): () => void {
    this.#subscriptions += 1;
    return () => void (this.#subscriptions -= 1);
  }

  /** As `decodeJson`; what is not the same to the byte is decoded anew. */
  decode<T>(schema: z.ZodType<T>, data: Uint8Array, subject: string): T {
    const known = this.#kept.get(subject);
    if (known !== undefined && Buffer.compare(known.data, data) === 0) {
      known.left -= 1;
      if (known.left === 0) this.#forget(subject, known);
      return known.payload as T;
    }
    const payload = decodeJson(schema, data, subject);
    if (this.#subscriptions > 1 && data.length < mostBytes) {
      if (known !== undefined) this.#forget(subject, known);
      this.#kept.set(subject, { data, payload, left: this.#subscriptions - 1 });
      this.#bytes += data.length;
      for (const [oldest, kept] of this.#kept) {
        if (this.#kept.size <= mostKept && this.#bytes <= mostBytes) break;
        this.#forget(oldest, kept);
      }
    }
    return payload;
  }

  #forget(subject: string, { data }: Kept): void {
    this.#kept.delete(subject);
    this.#bytes -= data.length;
  }
}
