import type { TargetResult } from '@roundsman/api';

/** This share of what went wrong makes the prober's own limits the cause. */
const dominant = 0.8;
/** Sending late is the prober's doing; beyond this share of the mean latency it is what made the target seem slow. */
const lateShare = 0.1;
/** Lateness below this does not matter, microseconds. */
const lateUs = 1000;

/**
 * Why a bad result says more about the prober than about its target; undefined when the result can be trusted. Requests
 * that the prober's own system refused, that it never sent, or that it sent late accuse nobody.
 */
export function exhaustionOf(result: TargetResult): string | undefined {
  if (result.ok) return undefined;
  const { sent, succeeded, failed, unsent, planned, sendLag, latency } = result;
  const local = result.errors.local ?? 0;
  const foreign = failed - local;
  if (local > 0 && local >= failed * dominant) {
    const told = result.failures.find(({ code }) => code === 'local')?.message;
    return `${local} of ${sent} requests could not be sent, the runner's own system refused${told === undefined ? '' : ` (${told})`}`;
  }
  // A target that answered nothing of what was sent is down, however much was not sent.
  const seemsAlive = succeeded > 0 || failed === 0;
  if (unsent > 0 && seemsAlive && unsent + local >= (unsent + failed) * dominant) return `${unsent} of ${planned} requests could not be sent in time`;
  if (foreign > 0 || sendLag.count === 0 || latency.count === 0) return undefined;
  const late = sendLag.sumUs / sendLag.count;
  const mean = latency.sumUs / latency.count;
  return late > lateUs && late > mean * lateShare ? `requests were sent ${(late / 1000).toFixed(1)} ms late in the mean, which is part of the mean latency of ${(mean / 1000).toFixed(1)} ms` : undefined;
}
