import type { ProbeErrorCode, Starvation, TargetResult } from '@roundsman/api';

/** Answers that no stalled prober can make up: somebody said so on the wire. Timeouts, resets and latencies it can. */
const said = new Set<ProbeErrorCode>(['refused', 'unreachable', 'unresolved', 'tls', 'protocol', 'status', 'rcode', 'answer', 'forbidden']);
const timeouts = new Set<ProbeErrorCode>(['timeout', 'connect-timeout']);
/** This share of the failures makes them the reason why a target is bad. */
const dominant = 0.8;
/** A prober that stood still for no more than this share of the wait, at once or in all, had time to hear an answer. */
const mostStalled = 0.5;

/** Also of many requests in a row somebody cut off: each alone a late prober may bring about, all of them from everywhere not. */
const cutOff = new Set<ProbeErrorCode>([...said, 'reset', 'closed']);

/** The targets at which not one request of any runner succeeded, for a reason that has nothing to do with time: they fail, however starved who says so. */
export function failsForAll(results: readonly TargetResult[]): Set<string> {
  const targets = [...Map.groupBy(results, ({ target }) => target)];
  return new Set(targets.filter(([, all]) => all.every(({ succeeded, failed, errors }) => succeeded === 0 && failed > 0 && countOf(errors, cutOff) >= failed * dominant)).map(([target]) => target));
}

const countOf = (errors: TargetResult['errors'], codes: ReadonlySet<ProbeErrorCode>): number => Object.entries(errors).reduce((sum, [code, count]) => (codes.has(code as ProbeErrorCode) ? sum + count : sum), 0);

/** Whether a bad result would be the same had its prober not been starved. */
export function holdsWhenStarved(result: TargetResult, starvation: Starvation): boolean {
  if (result.ok) return true;
  const waited = outlasted(result, starvation);
  const certain = countOf(result.errors, said) + (waited ? countOf(result.errors, timeouts) : 0);
  return certain > 0 && certain >= result.failed * dominant;
}

/** Nothing at all succeeded, and every timeout that was kept took much longer than the longest stall: those who wait so long are not answered. */
function outlasted({ succeeded, failures }: TargetResult, { longestStallMs, stalledShare = 0, throttledShare = 0 }: Starvation): boolean {
  const waits = failures.filter(({ code }) => timeouts.has(code)).map(({ latencyUs }) => latencyUs / 1000);
  if (succeeded > 0 || longestStallMs === undefined || waits.length === 0) return false;
  return longestStallMs < Math.min(...waits) * mostStalled && stalledShare < mostStalled && throttledShare < mostStalled;
}
