import { z } from 'zod';
import { probeErrorCodeSchema, runnerStates, phaseNames } from './result.ts';
import { verdictSchema } from './verdict.ts';
import { layers, taskKindSchema } from './work.ts';

/**
 * A closed round as people read it. Not a stored object: the gateway renders it from the report tables. `reports` holds the
 * last closed round of every existing task (`<kind>-<task>`), `roundreports` every kept round (`<kind>-<task>-<uid8>-<round>`).
 * Lists carry everything but `perRunner`, `perTarget` and `matrix`; a single get carries those too, up to `reportBounds`.
 */
export const reportBounds = {
  /** Entries of `perTarget` in one report, the bad ones first; `omitted.perTarget` counts the rest. */
  perTarget: 10_000,
  /** Cells of `matrix`, the bad ones first; `omitted.matrix` counts the rest. */
  matrix: 10_000,
  /** Entries of each list in `comparison`. */
  changes: 500,
} as const;

/** Latency of successful requests from their intended send time, in milliseconds and in microseconds. Absent when there was no success. */
export const latencySummarySchema = z.object({
  count: z.number().int().describe('Requests measured'),
  minMs: z.number(),
  meanMs: z.number(),
  p50Ms: z.number(),
  p90Ms: z.number(),
  p95Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
  minUs: z.number(),
  meanUs: z.number(),
  p50Us: z.number(),
  p90Us: z.number(),
  p95Us: z.number(),
  p99Us: z.number(),
  maxUs: z.number(),
});
export type LatencySummary = z.infer<typeof latencySummarySchema>;

const countsShape = {
  planned: z.number().int().describe('Requests the task asked for'),
  sent: z.number().int(),
  unsent: z.number().int().describe('Planned but never sent'),
  succeeded: z.number().int(),
  failed: z.number().int().describe('Sent and failed'),
  bytes: z.number().describe('Bytes of answers'),
};
const errorCounts = z.partialRecord(probeErrorCodeSchema, z.number().int());
const codeCounts = z.record(z.string(), z.number().int());

export const runnerReportSchema = z.object({
  runner: z.string(),
  node: z.string(),
  pod: z.string().optional().describe('Pod it runs in; absent for a process that an agent keeps'),
  state: z.enum(runnerStates).describe('ok, failed, canceled, error, or missing: it did not report'),
  reason: z.string().optional().describe('Why, in words; absent when ok, unless it was restarted'),
  startTime: z.string().optional(),
  endTime: z.string().optional(),
  targets: z.number().int(),
  okTargets: z.number().int(),
  ...countsShape,
  successRate: z.number().describe('Successes divided by planned requests, 0..1; in a canceled round by those that were sent and not called back'),
  latency: latencySummarySchema.optional(),
  sendLagP99Us: z.number().optional().describe('How late the prober itself was: p99 of actual minus intended send time at its worst target'),
  suspect: z.boolean().describe('The prober was starved: do not trust its numbers'),
  starvation: z.looseObject({}).optional(),
  runningLoad: z.record(z.string(), z.number()).optional().describe('Requests per second on this runner when its round ended, per task kind'),
});
export type RunnerReport = z.infer<typeof runnerReportSchema>;

export const targetReportSchema = z.object({
  runner: z.string(),
  node: z.string(),
  target: z.string(),
  layer: z.enum(layers),
  address: z.string(),
  method: z.string(),
  targetNode: z.string().optional(),
  interface: z.string().optional().describe('Interface of the pod that was addressed, when it is not the first'),
  family: z.enum(['v4', 'v6']).optional(),
  startTime: z.string(),
  endTime: z.string(),
  ...countsShape,
  successRate: z.number(),
  latency: latencySummarySchema.optional(),
  sendLagP99Us: z.number().optional(),
  phases: z.partialRecord(z.enum(phaseNames), z.object({ count: z.number().int(), meanUs: z.number(), maxUs: z.number() })).optional(),
  errors: errorCounts.optional(),
  statusCodes: codeCounts.optional(),
  replyCodes: codeCounts.optional(),
  ok: z.boolean(),
  reason: z.string().optional(),
});
export type TargetReport = z.infer<typeof targetReportSchema>;

/** What the runners on node `from` saw of the targets on node `to`. */
export const matrixCellSchema = z.object({
  from: z.string(),
  to: z.string(),
  targets: z.number().int(),
  okTargets: z.number().int(),
  planned: z.number().int(),
  succeeded: z.number().int(),
  successRate: z.number(),
  meanUs: z.number().optional(),
  p50Us: z.number().optional(),
  p99Us: z.number().optional(),
});
export const matrixReportSchema = z.object({ from: z.array(z.string()), to: z.array(z.string()), cells: z.array(matrixCellSchema) });
export type MatrixReport = z.infer<typeof matrixReportSchema>;

const changedTarget = z.object({ runner: z.string(), target: z.string(), reason: z.string().optional() });
/** This round minus the closed round before it. */
export const comparisonSchema = z.object({
  previousRound: z.number().int(),
  successRateDelta: z.number(),
  p50DeltaUs: z.number().optional(),
  p99DeltaUs: z.number().optional(),
  p99Ratio: z.number().optional().describe("This round's p99 divided by the previous one's"),
  newlyFailing: z.array(changedTarget),
  recovered: z.array(changedTarget),
  appeared: z.number().int().describe('Pairs of runner and target that the previous round did not have'),
  disappeared: z.number().int(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

export const reportTotalsSchema = z.object({
  ...countsShape,
  targets: z.number().int().describe('Pairs of runner and target'),
  okTargets: z.number().int(),
  runners: z.object({ expected: z.number().int(), ok: z.number().int(), failed: z.number().int(), canceled: z.number().int(), error: z.number().int(), missing: z.number().int() }),
});
export type ReportTotals = z.infer<typeof reportTotalsSchema>;

export const reportStates = ['succeed', 'fail', 'canceled', 'missed'] as const;

export const reportBodySchema = z.object({
  kind: taskKindSchema,
  task: z.string(),
  taskUid: z.string(),
  round: z.number().int(),
  trigger: z.string().describe('schedule, run-now or missed'),
  state: z.enum(reportStates),
  verdict: verdictSchema,
  summary: z.string().describe('One sentence: what is broken, or that all is well'),
  startTime: z.string().describe('When the round was due'),
  deadline: z.string().optional(),
  endTime: z.string().describe('When the round was closed'),
  duration: z.string().describe('Go duration string'),
  totals: reportTotalsSchema,
  successRate: z.number(),
  latency: latencySummarySchema.optional(),
  errors: errorCounts.optional(),
  statusCodes: codeCounts.optional(),
  replyCodes: codeCounts.optional(),
  perRunner: z.array(runnerReportSchema).optional(),
  perTarget: z.array(targetReportSchema).optional(),
  matrix: matrixReportSchema.optional().describe('Node x node, by the addresses of the runners on them'),
  comparison: comparisonSchema.optional(),
  nodes: z.object({ succeeded: z.array(z.string()), failed: z.array(z.string()) }).describe('Nodes by how their runners fared; silent ones are in `missing`'),
  missing: z.array(z.object({ runner: z.string(), node: z.string(), reason: z.string() })),
  notTested: z.array(z.string()).describe('Parts of the task that could not be tested in this round, and why'),
  suspect: z.array(z.object({ runner: z.string(), node: z.string(), reasons: z.array(z.string()) })),
  lateResults: z.number().int().describe('Result messages that came after the close and were dropped'),
  omitted: z.object({ perTarget: z.number().int().optional(), matrix: z.number().int().optional() }).optional(),
});
export type ReportBody = z.infer<typeof reportBodySchema>;

/** As the gateway hands it out: `spec` is the task's spec as it was in that round. */
export interface ReportObject {
  apiVersion: 'roundsman.io/v1';
  kind: 'Report' | 'RoundReport';
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string; generation: number; creationTimestamp: string; labels: Record<string, string> };
  spec: Record<string, unknown>;
  status: ReportBody;
}
