import { z } from 'zod';
import { taskKindSchema, layers } from './work.ts';

/**
 * Log-bucket histogram of microseconds: bucket = ceil(ln(us) / ln(gamma)), gamma = 1.02020202 (1 % relative error, the
 * mapping of DDSketch). Two parallel arrays sorted by bucket; values below 1 us are counted in bucket 0.
 */
export const histogramSchema = z.object({
  b: z.array(z.number().int().min(0).max(2000)),
  c: z.array(z.number().int().positive()),
});
export type HistogramData = z.infer<typeof histogramSchema>;

/** Counts and microseconds of one distribution. `min`, `max` and `sum` are exact; percentiles come from `histogram`. */
export const distributionSchema = z.object({
  count: z.number().int().nonnegative(),
  sumUs: z.number().nonnegative(),
  minUs: z.number().nonnegative(),
  maxUs: z.number().nonnegative(),
  histogram: histogramSchema,
});
export type Distribution = z.infer<typeof distributionSchema>;

/** The steps of one exchange; each is measured only where it happened (a kept connection has no connect). */
export const phaseNames = ['dns', 'connect', 'tls', 'firstByte', 'transfer'] as const;
export const phaseSchema = z.object({ count: z.number().int(), sumUs: z.number(), maxUs: z.number() });
export type Phase = z.infer<typeof phaseSchema>;

/** Why a request failed; closed list, docs/errors.md explains each. */
export const probeErrorCodes = [
  'timeout', 'connect-timeout', 'refused', 'reset', 'unreachable', 'unresolved', 'tls', 'protocol', 'status', 'rcode', 'answer', 'forbidden', 'closed', 'local', 'canceled',
] as const;
export const probeErrorCodeSchema = z.enum(probeErrorCodes);
export type ProbeErrorCode = (typeof probeErrorCodes)[number];

/** One failed request, kept raw; at most `maxFailures` of the engine per target and round. */
export const failureSchema = z.object({
  /** RFC 3339 with milliseconds: the intended send time. */
  at: z.iso.datetime(),
  code: probeErrorCodeSchema,
  message: z.string().max(500),
  latencyUs: z.number().nonnegative(),
});
export type Failure = z.infer<typeof failureSchema>;

/** What one runner measured at one target in one round: `planned = sent + unsent`, `sent = succeeded + failed`. */
export const targetResultSchema = z.object({
  target: z.string(),
  layer: z.enum(layers),
  /** What was addressed, for people: URL, or server:port/type/domain. */
  address: z.string(),
  method: z.string(),
  targetNode: z.string().optional(),
  interface: z.string().optional(),
  family: z.enum(['v4', 'v6']).optional(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  planned: z.number().int().nonnegative(),
  sent: z.number().int().nonnegative(),
  unsent: z.number().int().nonnegative(),
  succeeded: z.number().int().nonnegative(),
  failed: z.number().int().nonnegative(),
  bytes: z.number().nonnegative(),
  /** From the intended send time, successful requests only. */
  latency: distributionSchema,
  /** Actual minus intended send time of every sent request: how late the prober itself was. */
  sendLag: distributionSchema,
  phases: z.partialRecord(z.enum(phaseNames), phaseSchema),
  errors: z.partialRecord(probeErrorCodeSchema, z.number().int().positive()),
  /** HTTP status codes -> count. */
  statusCodes: z.record(z.string(), z.number().int().positive()),
  /** DNS reply codes (NOERROR, NXDOMAIN, ...) -> count. */
  replyCodes: z.record(z.string(), z.number().int().positive()),
  failures: z.array(failureSchema),
  ok: z.boolean(),
  /** The first success condition that does not hold, in words; absent when ok. */
  reason: z.string().optional(),
});
export type TargetResult = z.infer<typeof targetResultSchema>;

/** How starved the prober itself was while it measured. */
export const starvationSchema = z.object({
  /** True when the measurement should not be trusted; `reasons` say why. Suspect is never reported as healthy. */
  suspect: z.boolean(),
  reasons: z.array(z.string()),
  /** Event-loop delay p99 of the measuring thread, milliseconds. */
  loopDelayP99Ms: z.number().nonnegative(),
  /** Share of the round in which the measuring thread stood still for more than 20 ms at a time, 0..1. */
  stalledShare: z.number().min(0).optional(),
  /** The longest of these stalls, milliseconds. */
  longestStallMs: z.number().nonnegative().optional(),
  /** CPU seconds used by the runner process during the round divided by its wall time. */
  cpuShare: z.number().nonnegative(),
  /** Share of the round for which the cgroup throttled the runner, 0..1; absent where the kernel does not tell. */
  throttledShare: z.number().min(0).optional(),
  rssBytes: z.number().nonnegative(),
});
export type Starvation = z.infer<typeof starvationSchema>;

/** How a runner's round ended. `missing` is never sent: the reporter writes it for a runner that stayed silent. */
export const runnerStates = ['ok', 'failed', 'canceled', 'error', 'missing'] as const;

/**
 * What broke a round off on one runner: `ended` the runner itself ended (its echo target with it), `deadline` its time was over, `fault` its measuring thread
 * went wrong. What was not sent then, or got no answer, says nothing about the targets. `restarted`: it ended too, but was started again and carried its part
 * to the end.
 */
export const cutCauses = ['ended', 'restarted', 'deadline', 'fault'] as const;
export type CutCause = (typeof cutCauses)[number];

/** One part of what a runner measured. Large rounds come in several parts; only the last carries `outcome`. */
export const roundResultSchema = z.object({
  runner: z.string(),
  node: z.string(),
  kind: taskKindSchema,
  namespace: z.string(),
  task: z.string(),
  taskUid: z.string(),
  round: z.number().int().positive(),
  roundStart: z.iso.datetime(),
  /** From 1; `parts` is the same in all of them. */
  part: z.number().int().positive(),
  parts: z.number().int().positive(),
  targets: z.array(targetResultSchema),
  outcome: z
    .object({
      state: z.enum(['ok', 'failed', 'canceled', 'error']),
      /** In words; absent when ok, unless it was restarted. */
      reason: z.string().optional(),
      /** Absent when it was carried to its end by one process, or canceled. */
      cut: z.enum(cutCauses).optional(),
      startedAt: z.iso.datetime(),
      endedAt: z.iso.datetime(),
      targetCount: z.number().int().nonnegative(),
      starvation: starvationSchema,
      /** Requests per second of all rounds that ran on this runner when this one ended, per kind. */
      runningLoad: z.partialRecord(taskKindSchema, z.number()),
    })
    .optional(),
});
export type RoundResult = z.infer<typeof roundResultSchema>;

/** Live progress of one round on one runner: best effort, about one a second. */
export const liveSampleSchema = z.object({
  at: z.iso.datetime(),
  runner: z.string(),
  node: z.string(),
  kind: taskKindSchema,
  namespace: z.string(),
  task: z.string(),
  taskUid: z.string(),
  round: z.number().int(),
  phase: z.enum(['started', 'running', 'ended']),
  /** 0..1 of the planned requests of all targets. */
  progress: z.number().min(0).max(1),
  targets: z.number().int(),
  planned: z.number().int(),
  sent: z.number().int(),
  succeeded: z.number().int(),
  failed: z.number().int(),
  p50Us: z.number().optional(),
  p99Us: z.number().optional(),
  errors: z.partialRecord(probeErrorCodeSchema, z.number().int()),
});
export type LiveSample = z.infer<typeof liveSampleSchema>;
