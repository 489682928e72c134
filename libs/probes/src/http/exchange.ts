import type { ProbeErrorCode } from '@roundsman/api';
import type { Timed } from '../deadlines.ts';

/** One request on its way. Objects are used again: nothing is allocated per request in the steady state. */
export interface Exchange extends Timed {
  /** When it was due, and when it was written to a connection; milliseconds of performance.now(). */
  intended: number;
  writtenAt: number;
  /** 0 until the first byte of the response came. */
  firstByteAt: number;
  /** It was lost with a kept connection once and is being sent again. */
  retried: boolean;
  /** How often the server said that it did not touch it. */
  refusals: number;
  /** HTTP/2 only. */
  stream: number;
  carrier: Carrier | undefined;
}

/** A connection that carries exchanges. */
export interface Carrier {
  /** Gives the exchange up; its outcome is recorded by the caller. Returns true while the connection was not yet made. */
  abandon(exchange: Exchange): boolean;
}

/** How connections tell the prober about their exchanges. */
export interface Outcomes {
  /** A connection is being made. */
  making(): void;
  /** It is made, or given up. */
  made(ready: boolean): void;
  /** A connection was not made in the time of a request. */
  unanswered(): void;
  success(exchange: Exchange, now: number, status: number, bytes: number): void;
  failure(exchange: Exchange, now: number, code: ProbeErrorCode, message: string, bytes?: number): void;
  /**
   * The server closed a kept connection before it said anything: the exchange may be sent again if that does no harm.
   * `untouched`: the server did not process it (RFC 9113, 8.7), so it never does, and that is not the one time either.
   */
  lost(exchange: Exchange, now: number, code: ProbeErrorCode, message: string, untouched?: boolean): void;
}
