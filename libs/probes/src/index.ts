export { probes, runRound, runTarget, runMaximum, plannedRequests, resolveTimeoutMs, type Measured, type ProbeContext, type RoundOutcome, type RoundProgress } from './round.ts';
export { compilePolicy, parseAddress, defaultDenied, type Policy, type PolicySettings } from '@roundsman/api/policy';
export { startStarvationMeter, starvationThresholds, throttledMicroseconds, type StarvationMeter } from './starvation.ts';
export { maxFailures } from './recorder.ts';
export type { Limits } from './limits.ts';
export type { Prepared, Probe, Prober, Lane } from './probe.ts';
export { afterTurning } from './timer.ts';
