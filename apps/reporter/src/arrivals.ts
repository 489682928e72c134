import { onReconnect, streamRange, type Bus } from '@roundsman/bus';
import type { Logger } from 'pino';

export interface ArrivalTimes {
  /** Milliseconds after a start or an outage in which runners connect and send again what they hold. */
  readonly quietMs: number;
  /** Milliseconds for which what lies in the stream is waited for: longer than another instance's ack wait. */
  readonly patienceMs: number;
}
const usual: ArrivalTimes = { quietMs: 5_000, patienceMs: 15_000 };

/**
 * Whether a round's results had their chance to come in. The stream holds a result until it is committed, so all that was
 * sent before some moment is in once the stream begins after what was its end then. Until Postgres and NATS have been there for
 * a while nothing can be said: how late it is counts from then, not from the round's deadline.
 */
export class Arrivals {
  readonly #times: ArrivalTimes;
  readonly #marks = new Map<string, { at: number; last: number | undefined }>();
  readonly #off: () => void;
  #quietUntil = 0;
  #range: Promise<{ first: number; last: number } | undefined> | undefined;

  constructor(private readonly options: { bus: Bus; log: Logger; times?: ArrivalTimes }) {
    this.#times = options.times ?? usual;
    this.#off = onReconnect(options.bus, () => this.outage());
    this.outage();
  }

  stop(): void {
    this.#off();
  }

  /** Postgres or NATS is away, or has just come back; also at the start, of which nobody knows what it followed. */
  outage(): void {
    this.#quietUntil = Date.now() + this.#times.quietMs;
    // A store that was wiped counts from one again.
    this.#marks.clear();
  }

  /** What is asked from now on is about the stream as it is from now on. */
  lookAgain(): void {
    this.#range = undefined;
  }

  forget(round: string): void {
    this.#marks.delete(round);
  }

  /** Is what was sent for this round before the first time this was asked in Postgres now, or not to be waited for any longer? */
  async allIn(round: string): Promise<boolean> {
    if (!this.options.bus.health().connected) this.outage();
    if (Date.now() < this.#quietUntil) return false;
    const range = await (this.#range ??= this.#ask());
    let mark = this.#marks.get(round);
    if (mark === undefined) this.#marks.set(round, (mark = { at: Date.now(), last: undefined }));
    mark.last ??= range?.last;
    if (range !== undefined && mark.last !== undefined && range.first > mark.last) return true;
    return Date.now() - mark.at > this.#times.patienceMs;
  }

  async #ask(): Promise<{ first: number; last: number } | undefined> {
    try {
      return await streamRange(this.options.bus, 'RESULT');
    } catch (error) {
      this.options.log.warn({ err: error }, 'cannot see which results are still to come in');
      return undefined;
    }
  }
}
