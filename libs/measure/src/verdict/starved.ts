import type { ProbeErrorCode, Starvation, TargetResult } from '@roundsman/api';

/** Answers that no stalled prober can make up: somebody said so on the wire. Timeouts, resets and latencies it can. */
const said = new Set<ProbeErrorCode>(['refused', 'unreachable', 'unresolved', 'tls', 'protocol', 'status', 'rcode', 'answer', 'forbidden']);
const timeouts = new Set<ProbeErrorCode>(['timeout', 'connect-timeout']);
/** This share of the failures makes them the reason why a target is bad. */
const dominant = 0.8;
/** A prober that stood still for no more than this share of the wait, at once or in all, had time to hear an answer. */
const mostStalled = 0.5;

/** Whether a bad result would be the same had its prober not been starved. */
export function holdsWhenStarved(result: TargetResult, starvation: Starvation): boolean {
  if (result.ok) return true;
  const waited = outlasted(result, starvation);
  const certain = Object.entries(result.errors).reduce((sum, [name, count]) => {
    const code = name as ProbeErrorCode;
    return said.has(code) || (waited && timeouts.has(code)) ? sum + count : sum;
  }, 0);
  return certain > 0 && certain >= result.failed * dominant;
}

/** Nothing at all succeeded, and every timeout that was kept took much longer than the longest stall: those who wait so long are not answered. */
function outlasted({ succeeded, failures }: TargetResult, { longestStallMs, stalledShare = 0, throttledShare = 0 }: Starvation): boolean {
  const waits = failures.filter(({ code }) => timeouts.has(code)).map(({ latencyUs }) => latencyUs / 1000);
  if (succeeded > 0 || longestStallMs === undefined || waits.length === 0) return false;
  return longestStallMs < Math.min(...waits) * mostStalled && stalledShare < mostStalled && throttledShare < mostStalled;
}
