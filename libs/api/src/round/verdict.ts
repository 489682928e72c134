import { z } from 'zod';
import { layers } from './work.ts';

/**
 * What a round says about the cluster, worst first: `broken` something does not work at all; `degraded` it works but not
 * within the success condition; `incomplete` nothing bad was measured but runners are missing, or parts could not be tested; `suspect` nothing bad was
 * measured by a prober that can be trusted; `healthy` everything held.
 */
export const verdictStates = ['broken', 'degraded', 'incomplete', 'suspect', 'healthy'] as const;
export const verdictStateSchema = z.enum(verdictStates);
export type VerdictState = (typeof verdictStates)[number];

/** Stable codes of what a round can find; docs/errors.md explains each. Never renamed, only added to. */
export const findingCodes = [
  'all-down', 'family-down', 'node-isolated', 'node-unreachable', 'node-no-egress', 'path-broken', 'interface-down',
  'service-forwarding', 'service-down', 'node-port-forwarding', 'node-port-down', 'load-balancer-down', 'ingress-down', 'ingress-no-rule', 'ingress-backend',
  'target-down', 'target-refused', 'name-unresolved', 'tls-failed', 'wrong-status', 'wrong-rcode', 'wrong-answer', 'target-forbidden',
  'node-degraded', 'path-degraded', 'target-degraded', 'slow', 'unsent', 'prober-starved', 'prober-exhausted', 'runner-missing', 'runner-ended', 'runner-restarted', 'runner-error', 'round-canceled', 'no-targets', 'not-tested',
] as const;
export type FindingCode = (typeof findingCodes)[number];

export const findingSeverities = ['critical', 'warning', 'info'] as const;

export const roundFindingSchema = z.object({
  code: z.enum(findingCodes),
  severity: z.enum(findingSeverities),
  /** What is broken: `node node-2`, `path node-1 -> node-3`, `path node-2 -> clusterIP`, `layer ingress`, `target url`, `runner r-1`. Stable over rounds of a task. */
  subject: z.string(),
  /** The lowest layer that fails, where it is about reaching something. */
  layer: z.enum(layers).optional(),
  /** Where only one of the tested address families is concerned. */
  family: z.enum(['v4', 'v6']).optional(),
  /** One sentence for people. */
  message: z.string(),
  /** The measurements it was inferred from, one line each, at most 20. */
  evidence: z.array(z.string()),
});
export type RoundFinding = z.infer<typeof roundFindingSchema>;

export const verdictSchema = z.object({
  state: verdictStateSchema,
  /** One sentence: the worst finding and how many more there are. */
  summary: z.string(),
  /** Worst first. */
  findings: z.array(roundFindingSchema),
});
export type Verdict = z.infer<typeof verdictSchema>;
