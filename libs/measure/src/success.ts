import type { Distribution, SuccessCondition } from '@roundsman/api';

/** What the success condition is judged on. `planned` includes what could not be sent. */
export interface Counts {
  planned: number;
  unsent: number;
  succeeded: number;
  latency: Pick<Distribution, 'count' | 'sumUs'>;
}

export interface Judgement {
  ok: boolean;
  /** The first condition that does not hold, with the numbers; absent when ok. */
  reason?: string;
}

/**
 * Judges one target. In this order: success rate (of the planned requests), mean latency of the successes, requests that
 * could not be sent. Status codes, reply codes and answers were judged per request and count in the rate.
 */
export function judge(counts: Counts, expect: SuccessCondition): Judgement {
  const { planned, succeeded, unsent, latency } = counts;
  if (planned === 0) return { ok: false, reason: 'no request was planned' };
  if (expect.successRate !== undefined && succeeded / planned < expect.successRate) {
    return { ok: false, reason: `success rate ${share(succeeded, planned)} (${succeeded} of ${planned}) is below ${number(expect.successRate)}` };
  }
  if (expect.meanAccessDelayInMs !== undefined) {
    if (latency.count === 0) return { ok: false, reason: 'no request succeeded, so there is no mean latency to judge' };
    const meanMs = latency.sumUs / latency.count / 1000;
    if (meanMs > expect.meanAccessDelayInMs) {
      return { ok: false, reason: `mean latency ${meanMs.toFixed(3)} ms is above ${number(expect.meanAccessDelayInMs)} ms` };
    }
  }
  if (unsent > 0) return { ok: false, reason: `${unsent} of ${planned} requests could not be sent before the round ended` };
  return { ok: true };
}

/** Never rounded up to the bound it missed: 0.99999 is not shown as 1. */
function share(part: number, whole: number): string {
  const value = part / whole;
  return number(value < 1 ? Math.min(0.9999, Math.floor(value * 10_000) / 10_000) : 1);
}

function number(value: number): string {
  return String(value);
}
