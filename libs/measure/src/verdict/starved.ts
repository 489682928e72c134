import type { ProbeErrorCode, TargetResult } from '@roundsman/api';

/** Answers that no stalled prober can make up: somebody said so on the wire. Timeouts, resets and latencies it can. */
const said = new Set<ProbeErrorCode>(['refused', 'unreachable', 'unresolved', 'tls', 'protocol', 'status', 'rcode', 'answer', 'forbidden']);
/** This share of the failures makes them the reason why a target is bad. */
const dominant = 0.8;

/** Whether a bad result would be the same had its prober not been starved. */
export function holdsWhenStarved(result: TargetResult): boolean {
  if (result.ok) return true;
  const heard = Object.entries(result.errors).reduce((sum, [code, count]) => (said.has(code as ProbeErrorCode) ? sum + count : sum), 0);
  return heard > 0 && heard >= result.failed * dominant;
}
