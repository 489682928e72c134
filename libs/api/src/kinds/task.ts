import { z } from 'zod';
import { conditionSchema, type KubeObject } from '../meta.ts';
import { verdictStateSchema } from '../round/verdict.ts';
import type { TaskKind } from '../round/work.ts';
import { runtimePathsSchema } from './runtime/schema.ts';

export const roundStates = ['notstarted', 'ongoing', 'succeed', 'fail', 'canceled'] as const;

/** One round in a task's history, newest first; field names as in kdoctor. */
export const roundRecordSchema = z.object({
  roundNumber: z.number().int().describe('Number of the round, from 1'),
  status: z.enum(roundStates).describe('How the round is, or how it ended'),
  failureReason: z.string().optional().describe('What is broken, in words'),
  startTimeStamp: z.string().describe('When it started, RFC 3339'),
  deadLineTimeStamp: z.string().describe('When it is closed at the latest'),
  endTimeStamp: z.string().optional().describe('When it was closed'),
  duration: z.string().optional().describe('Go duration string'),
  expectedActorNumber: z.number().int().optional().describe('Runners expected to report'),
  succeedAgentNodeList: z.array(z.string()).describe('Nodes on which everything held'),
  failedAgentNodeList: z.array(z.string()).describe('Nodes on which something did not'),
  notReportAgentNodeList: z.array(z.string()).describe('Nodes that did not report'),
});
export type RoundRecord = z.infer<typeof roundRecordSchema>;

/** Status of every task kind. Condition types: Scheduled, RuntimeReady, TargetsFound, Progressing, Complete, Healthy, Suspended. */
export const taskStatusSchema = z.object({
  observedGeneration: z.number().int().optional().describe('Generation of the task that this status is about'),
  expectedRound: z.number().int().optional().describe('Rounds this task will run; -1 for ever'),
  doneRound: z.number().int().optional().describe('Rounds that are closed'),
  finish: z.boolean().optional().describe('Whether all rounds are done'),
  finishTime: z.string().optional().describe('When the last round was closed'),
  lastRoundStatus: z.enum(['succeed', 'fail', 'canceled', 'unknown']).optional().describe('How the last closed round ended'),
  nextRoundTime: z.string().optional().describe('When the next round starts'),
  handledRunNow: z.string().optional().describe('Value of the run-now annotation that has been acted on'),
  handledCancel: z.string().optional().describe('Value of the cancel annotation that has been acted on'),
  history: z.array(roundRecordSchema).optional().describe('The last rounds, newest first'),
  conditions: z.array(conditionSchema).optional().describe('Scheduled, Progressing, Complete, Healthy, Suspended and those of its runtime and targets, each with its reason'),
  resource: z
    .object({
      runtimeName: z.string().describe('Name of the workload that carries the task'),
      runtimeType: z.string().describe('Its kind'),
      runtimeStatus: z.string().describe('Its state: creating, created or deleted'),
      serviceNameV4: z.string().optional().describe('Its service for IPv4'),
      serviceNameV6: z.string().optional().describe('Its service for IPv6'),
    })
    .optional()
    .describe('What carries the task'),
  /** NetDNS with targetDns: its servers are found by the controllers, and asked by the next round. */
  dnsServers: z.array(z.object({ service: z.string().describe('Namespace and name of the Service'), address: z.string().describe('Its cluster address'), port: z.number().int().describe('Its port') })).optional().describe('DNS servers that targetDns stands for'),
});
export type TaskStatus = z.infer<typeof taskStatusSchema>;

/** A round of a task as an object: spec is the scheduler's assignment, status how the reporter closed it. */
export const roundSpecSchema = z.object({
  taskRef: z.object({ kind: z.enum(['NetReach', 'AppHttpHealthy', 'NetDNS']), resource: z.string(), namespace: z.string(), name: z.string(), uid: z.string(), generation: z.number().int() }),
  number: z.number().int().positive(),
  startTime: z.string(),
  deadline: z.string(),
  /** The task's spec as it was when the round was made. */
  taskSpec: z.record(z.string(), z.unknown()),
  /** Who must report; a runner that was not ready is listed with the reason and recorded as missing. */
  runners: z.array(
    z.object({
      runner: z.string(),
      node: z.string(),
      notReady: z.string().optional(),
      /** Pod it runs in, for people. */
      pod: z.string().optional(),
      /** Addresses of its interfaces besides the first (Multus). */
      interfaces: z.array(z.object({ name: z.string(), family: z.enum(['v4', 'v6']), address: z.string() })).optional(),
      /** Where its echo target answered when the round was made: whoever is given the work later addresses the same. Absent where nobody addresses it. */
      addresses: z.array(z.string()).optional(),
      ports: z.record(z.string(), z.number().int()).optional(),
    }),
  ),
  /** The runtime that carries the round. */
  runtime: z.string().optional(),
  /** How its runners can be reached but by their own addresses, as it was when the round was made. */
  paths: runtimePathsSchema.optional(),
  /** NetDNS with targetDns: whom it asks. */
  dnsServers: z.array(z.object({ service: z.string(), address: z.string(), port: z.number().int() })).optional(),
  /** `schedule`, `run-now`, or `missed`: its time passed while nothing could run it; recorded, never sent. */
  trigger: z.enum(['schedule', 'run-now', 'missed']),
  /** Parts of the task that cannot be tested in this round, in words; named in the report, which is incomplete by them. */
  notTested: z.array(z.string()).optional(),
  /** Set when the round must end early. */
  cancel: z.boolean().optional(),
});
export type RoundSpec = z.infer<typeof roundSpecSchema>;
export const roundStatusSchema = z.object({
  state: z.enum(['ongoing', 'succeed', 'fail', 'canceled', 'missed']),
  closedAt: z.string().optional(),
  verdict: verdictStateSchema.optional().describe('What the results say; a round may succeed and yet be suspect'),
  summary: z.string().optional(),
  succeeded: z.array(z.string()).optional().describe('Nodes'),
  failed: z.array(z.string()).optional(),
  missing: z.array(z.object({ node: z.string(), runner: z.string(), reason: z.string() })).optional(),
});
export type RoundStatus = z.infer<typeof roundStatusSchema>;
export type Round = KubeObject<RoundSpec, RoundStatus>;

/** A probe-runner, kept by the runner registry from its heartbeats. */
export const runnerStatusSchema = z.object({
  node: z.string(),
  /** Name of its Runtime. */
  runtime: z.string(),
  /** Its pod, `namespace/name`; absent for a process that an agent keeps. */
  pod: z.string().optional(),
  instance: z.string(),
  version: z.string(),
  ready: z.boolean(),
  reason: z.string().optional(),
  addresses: z.array(z.object({ family: z.enum(['v4', 'v6']), address: z.string() })),
  ports: z.record(z.string(), z.number().int()),
  capacityQps: z.number(),
  lastTransitionTime: z.string(),
});
export type RunnerStatus = z.infer<typeof runnerStatusSchema>;
export type Runner = KubeObject<Record<string, never>, RunnerStatus>;

/** Stored resource key of each task kind. */
export const taskResources: Record<TaskKind, string> = {
  NetReach: 'netreaches.roundsman.io',
  AppHttpHealthy: 'apphttphealthies.roundsman.io',
  NetDNS: 'netdnses.roundsman.io',
};
export const taskAnnotations = { runNow: 'roundsman.io/run-now', cancel: 'roundsman.io/cancel' } as const;
/** Label on rounds, reports and events: the task they belong to. */
export const taskLabels = { kind: 'roundsman.io/task-kind', name: 'roundsman.io/task', uid: 'roundsman.io/task-uid', round: 'roundsman.io/round' } as const;
/** Annotations on a Round: the ledger of its task up to and including it, so that old Rounds may be removed. */
export const roundAnnotations = {
  /** Rounds of the schedule so far, missed ones included. */
  scheduled: 'roundsman.io/scheduled-rounds',
  /** Start of the last of them, RFC 3339: the point of the grid from which the next one is computed. */
  lastScheduledStart: 'roundsman.io/last-scheduled-start',
  /** The task's run-now value that has been acted on; `''` and absent are the same. */
  runNow: 'roundsman.io/run-now',
  /** The task's cancel value when the round was made: another value on the task ends this round. */
  cancel: 'roundsman.io/cancel',
  /** Starts before this round that were neither run nor recorded, because too many were missed. */
  skipped: 'roundsman.io/skipped-rounds',
} as const;

/** Deterministic: creating a round twice is the same round. */
export const roundObjectName = (kind: TaskKind, taskName: string, taskUid: string, round: number): string =>
  `${kind.toLowerCase()}-${taskName}-${taskUid.slice(0, 8)}-${round}`;
