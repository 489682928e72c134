import type { ProbeTarget, SuccessCondition, TargetResult } from '@roundsman/api';
import { ProbeError } from './errors.ts';
import type { Limits } from './limits.ts';
import { Nowhere } from './nowhere.ts';
import type { Lane, Prepared, Prober } from './probe.ts';
import { Recorder } from './recorder.ts';
import type { Pinned } from './resolve.ts';

/**
 * One target in one round: keeps count of what is due and hands it to the prober as far as that has room. Requests that
 * wait take no memory: slot k was due at a time that can be computed.
 */
export class TargetRun implements Lane {
  readonly target: ProbeTarget;
  readonly planned: number;
  readonly record = new Recorder();
  readonly #prepared: Prepared;
  readonly #ended = Promise.withResolvers<void>();
  #prober: Prober | undefined;
  #family: 'v4' | 'v6' | undefined;
  #intended: (slot: number) => number = () => performance.now();
  #until = Number.POSITIVE_INFINITY;
  #due = 0;
  #limits: Limits | undefined;
  #timeoutMs = 0;
  #taken = 0;
  #open = true;
  #pumping = false;
  #soon: NodeJS.Immediate | undefined;

  constructor(target: ProbeTarget, prepared: Prepared, planned: number) {
    this.target = target;
    this.planned = planned;
    this.#prepared = prepared;
  }

  /**
   * Connects nothing yet. `intended(k)` tells when request k is due, milliseconds of performance.now(). After `until` nothing is sent, also when a process
   * that stood still until then wakes up with all of it due.
   */
  begin(where: Pinned | Nowhere, intended: (slot: number) => number, timeoutMs: number, limits: Limits, until = Number.POSITIVE_INFINITY): void {
    this.#intended = intended;
    this.#timeoutMs = timeoutMs;
    this.#limits = limits;
    this.#until = until;
    this.#goTo(where, limits);
  }

  /** What is due from now on goes there; for a target that led nowhere so far, and had nothing under way. */
  turnTo(where: Pinned | Nowhere): void {
    if (this.#open && this.#limits !== undefined) this.#goTo(where, this.#limits);
  }

  /** The target may not be addressed: every planned request fails with that reason, none goes on the wire. */
  refuse(error: ProbeError): void {
    const now = performance.now();
    this.#open = false;
    if (error.code !== 'canceled') {
      this.record.sent = this.planned;
      this.record.fail(this.planned, now, now, error.code, error.message);
    }
    this.#ended.resolve();
  }

  /** One more request is due (or, without a schedule, may be sent as soon as there is room). */
  due(count = 1): void {
    this.#due += count;
    this.#pump();
    if (this.#open && this.#taken < this.#due) this.record.waited += 1;
  }

  ended(now: number): void {
    if (this.#open && this.#due > this.#taken) {
      if (this.#prober?.gathers === true) this.#pumpSoon();
      else this.#pump(now);
    }
    this.#checkEnd();
  }

  /** What is not sent by now stays unsent. */
  endSending(): void {
    this.#open = false;
    this.#checkEnd();
  }

  cancel(): void {
    this.#open = false;
    this.#prober?.cancel();
    this.#checkEnd();
  }

  /** Resolves when no exchange is under way and none will be started. */
  async finished(): Promise<void> {
    await this.#ended.promise;
    clearImmediate(this.#soon);
    this.#prober?.close();
  }

  result(startedAt: number, expect: SuccessCondition, planned = this.planned): TargetResult {
    const { address, method } = this.#prepared;
    const described = { address, method, ...(this.#family === undefined ? {} : { family: this.#family }), ...(this.#limits === undefined ? {} : { limits: this.#limits }) };
    return this.record.result(this.target, described, planned, startedAt, expect);
  }

  /** As `result`, while it runs: requests under way are told of as not sent yet. */
  soFar(startedAt: number, expect: SuccessCondition): TargetResult {
    const result = this.result(startedAt, expect);
    const sent = result.succeeded + result.failed;
    return { ...result, sent, unsent: result.planned - sent };
  }

  #goTo(where: Pinned | Nowhere, limits: Limits): void {
    if (where instanceof Nowhere) {
      this.#prober = where;
      return;
    }
    this.#family = where.family === 6 ? 'v6' : 'v4';
    if (where.resolveUs !== undefined) this.record.phase('dns', where.resolveUs / 1000);
    this.#prober = this.#prepared.open(where, this, this.#timeoutMs, limits);
  }

  #pump(at?: number): void {
    const prober = this.#prober;
    if (this.#pumping || prober === undefined) return;
    this.#pumping = true;
    while (this.#open && this.#taken < this.#due && prober.hasRoom()) {
      const now = at ?? performance.now();
      if (now > this.#until) {
        this.#open = false;
        break;
      }
      const intended = Math.min(now, this.#intended(this.#taken));
      this.#taken += 1;
      this.record.leave(intended, now);
      prober.start(intended, now);
    }
    this.#pumping = false;
    if (this.#taken >= this.planned) this.#open = false;
    this.#checkEnd();
  }

  /** Once everything that has arrived was read: what waits then leaves together, which wakes the server less often. */
  #pumpSoon(): void {
    if (this.#soon !== undefined) return;
    this.#soon = setImmediate(() => {
      this.#soon = undefined;
      this.#pump();
    });
  }

  #checkEnd(): void {
    if (!this.#open && (this.#prober?.inFlight ?? 0) === 0) this.#ended.resolve();
  }
}
