import type { Failure, Phase, ProbeErrorCode, ProbeTarget, SuccessCondition, TargetResult } from '@roundsman/api';
import { DistributionCollector, judge } from '@roundsman/measure';
import type { Limits } from './limits.ts';

/** Raw failures kept per target and round; the rest is counted only. */
export const maxFailures = 20;
/** From this share of the planned requests on, those that waited for the runner's own limits are part of the reason. */
const tellWaitedShare = 0.01;

type PhaseName = keyof TargetResult['phases'];

/**
 * Collects what one target's round measured. All times are milliseconds on the clock of `performance.now()`; what comes
 * out is microseconds. Memory does not grow with the number of requests.
 */
export class Recorder {
  sent = 0;
  succeeded = 0;
  failed = 0;
  bytes = 0;
  /** Requests that found no room when they were due: the runner's limits held them up. */
  waited = 0;
  readonly latency = new DistributionCollector();
  readonly sendLag = new DistributionCollector();
  readonly errors: Partial<Record<ProbeErrorCode, number>> = {};
  readonly #statusCodes: number[] = [];
  readonly #replyCodes = new Map<string, number>();
  readonly #phases = new Map<PhaseName, Phase>();
  readonly #failures: Failure[] = [];
  /** Wall clock minus the steady clock, taken afresh for each round: the two drift apart over days. */
  readonly #epoch = Date.now() - performance.now();

  /** A request leaves now that was due at `intended`. */
  leave(intended: number, now: number): void {
    this.sent += 1;
    this.sendLag.add((now - intended) * 1000);
  }

  success(intended: number, now: number): void {
    this.succeeded += 1;
    this.latency.add((now - intended) * 1000);
  }

  failure(intended: number, now: number, code: ProbeErrorCode, message: string): void {
    this.fail(1, intended, now, code, message);
  }

  /** `count` requests failed for one and the same reason. */
  fail(count: number, intended: number, now: number, code: ProbeErrorCode, message: string): void {
    if (count === 0) return;
    this.failed += count;
    this.errors[code] = (this.errors[code] ?? 0) + count;
    if (this.#failures.length >= maxFailures) return;
    const at = new Date(this.#epoch + intended).toISOString();
    this.#failures.push({ at, code, message: message.slice(0, 500), latencyUs: Math.max(0, Math.round((now - intended) * 1000)) });
  }

  phase(name: PhaseName, ms: number): void {
    const us = ms > 0 ? ms * 1000 : 0;
    const phase = this.#phases.get(name);
    if (phase === undefined) this.#phases.set(name, { count: 1, sumUs: us, maxUs: us });
    else {
      phase.count += 1;
      phase.sumUs += us;
      if (us > phase.maxUs) phase.maxUs = us;
    }
  }

  statusCode(code: number): void {
    this.#statusCodes[code] = (this.#statusCodes[code] ?? 0) + 1;
  }

  replyCode(name: string): void {
    this.#replyCodes.set(name, (this.#replyCodes.get(name) ?? 0) + 1);
  }

  result(target: ProbeTarget, describe: { address: string; method: string; family?: 'v4' | 'v6'; limits?: Limits }, planned: number, startedAt: number, expect: SuccessCondition): TargetResult {
    const unsent = planned - this.sent;
    const latency = this.latency.toData();
    const { ok, reason } = judge({ planned, unsent, succeeded: this.succeeded, latency }, expect);
    const held = this.waited > planned * tellWaitedShare && describe.limits !== undefined ? `; ${this.waited} of ${planned} requests had to wait until the runner had a connection free or made (at most ${describe.limits.connections} connections and ${describe.limits.inFlight} requests under way)` : '';
    const family = target.family ?? describe.family;
    const statusCodes: Record<string, number> = {};
    this.#statusCodes.forEach((count, code) => (statusCodes[code] = count));
    return {
      target: target.id,
      layer: target.layer,
      address: describe.address,
      method: describe.method,
      ...(target.node === undefined ? {} : { targetNode: target.node }),
      ...(target.interface === undefined ? {} : { interface: target.interface }),
      ...(family === undefined ? {} : { family }),
      startedAt: new Date(this.#epoch + startedAt).toISOString(),
      endedAt: new Date(this.#epoch + performance.now()).toISOString(),
      planned,
      sent: this.sent,
      unsent,
      succeeded: this.succeeded,
      failed: this.failed,
      bytes: this.bytes,
      latency,
      sendLag: this.sendLag.toData(),
      phases: Object.fromEntries([...this.#phases].map(([name, p]) => [name, { count: p.count, sumUs: Math.round(p.sumUs), maxUs: Math.round(p.maxUs) }])),
      errors: { ...this.errors },
      statusCodes,
      replyCodes: Object.fromEntries(this.#replyCodes),
      failures: [...this.#failures],
      ok,
      ...(reason === undefined ? {} : { reason: `${reason}${held}` }),
    };
  }
}
