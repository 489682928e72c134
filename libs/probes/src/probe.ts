import type { Materials, ProbeTarget, SuccessCondition } from '@roundsman/api';
import type { Limits } from './limits.ts';
import type { Recorder } from './recorder.ts';
import type { Pinned } from './resolve.ts';

/** What a prober reports into, and through which it says that it can take the next exchange. */
export interface Lane {
  readonly record: Recorder;
  /** An exchange ended, its outcome is recorded. `now` on the clock of performance.now(). */
  ended(now: number): void;
}

/** Carries out exchanges with one target: one is started per call, its outcome goes to the lane. */
export interface Prober {
  /** Waiting exchanges are better started together than one by one as room comes. */
  readonly gathers: boolean;
  /** True when `start` may be called. */
  hasRoom(): boolean;
  /** Starts an exchange that was due at `intended`; always ends in exactly one success or failure at the lane. */
  start(intended: number, now: number): void;
  /** Exchanges started and not ended. */
  readonly inFlight: number;
  /** Ends the exchanges under way as `canceled`. */
  cancel(): void;
  /** Closes every connection and timer; nothing may be under way. */
  close(): void;
}

/** A target made ready: everything that can be wrong with its set-up was found. */
export interface Prepared {
  /** For people: URL, or server:port/type/domain. */
  address: string;
  method: string;
  /** What is resolved and connected to. */
  host: string;
  port: number;
  open(pinned: Pinned, lane: Lane, timeoutMs: number, limits: Limits): Prober;
}

/** One probe kind: checks a target's set-up (throws what is wrong with it) and opens probers for it. */
export type Probe<T extends ProbeTarget = ProbeTarget> = (target: T, expect: SuccessCondition, materials: Materials) => Prepared;
