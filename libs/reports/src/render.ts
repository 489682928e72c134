import { createHash } from 'node:crypto';
import { phaseNames, taskLabels, type Comparison, type Distribution, type LatencySummary, type ReportBody, type ReportObject, type ReportTotals, type RunnerReport, type TargetReport, type TaskKind, type Verdict } from '@roundsman/api';
import { successRate } from './success-rate.ts';
import { quantile } from './quantile.ts';
import { distributionOf, type FlatDistribution, type RunnerRow } from './runners.ts';

/** A closed round as the tables hold it. */
export interface RoundRow extends FlatDistribution {
  taskUid: string;
  round: number;
  kind: TaskKind;
  namespace: string;
  task: string;
  name: string;
  start: Date;
  deadline: Date | null;
  trigger: string;
  taskSpec: Record<string, unknown> | null;
  notTested: string[];
  state: ReportBody['state'];
  verdict: Verdict;
  closedAt: Date;
  version: number;
  targets: number;
  okTargets: number;
  planned: number;
  sent: number;
  unsent: number;
  succeeded: number;
  failed: number;
  bytes: number;
  runners: ReportTotals['runners'];
  errors: ReportBody['errors'] | null;
  statusCodes: Record<string, number> | null;
  replyCodes: Record<string, number> | null;
  comparison: Comparison | null;
  lateResults: number;
}

export const roundColumns = `r.task_uid as "taskUid", r.round, r.kind, r.namespace, r.task, r.name, r.round_start as start, r.deadline, r.trigger, r.task_spec as "taskSpec", r.not_tested as "notTested",
  r.state, r.verdict_body as verdict, r.closed_at as "closedAt", r.report_version::float8 as version, r.targets, r.ok_targets as "okTargets",
  r.planned::float8, r.sent::float8, r.unsent::float8, r.succeeded::float8, r.failed::float8, r.bytes::float8,
  json_build_object('expected', r.runners_expected, 'ok', r.runners_ok, 'failed', r.runners_failed, 'canceled', r.runners_canceled, 'error', r.runners_error, 'missing', r.runners_missing) as runners,
  r.latency_count::float8 as n, r.latency_sum_us as sum, r.latency_min_us as min, r.latency_max_us as max, r.latency_b as b, r.latency_c::float8[] as c,
  r.errors, r.status_codes as "statusCodes", r.reply_codes as "replyCodes", r.comparison, r.late_results as "lateResults"`;

/** What every report says of a runner, also in lists. */
export type RunnerBrief = Pick<RunnerRow, 'runner' | 'node' | 'state' | 'reason' | 'starvation'>;

export function reportObject(kind: 'Report' | 'RoundReport', row: RoundRow, runners: readonly RunnerBrief[]): ReportObject {
  return {
    apiVersion: 'roundsman.io/v1',
    kind,
    metadata: {
      name: kind === 'Report' ? `${row.kind.toLowerCase()}-${row.task}` : row.name,
      namespace: row.namespace,
      uid: reportUid(row.taskUid, kind === 'Report' ? undefined : row.round),
      resourceVersion: String(row.version),
      generation: 1,
      creationTimestamp: wholeSeconds(row.closedAt),
      labels: { [taskLabels.kind]: row.kind, [taskLabels.name]: row.task, [taskLabels.uid]: row.taskUid, [taskLabels.round]: String(row.round) },
    },
    spec: row.taskSpec ?? {},
    status: body(row, runners),
  };
}

function body(row: RoundRow, runners: readonly RunnerBrief[]): ReportBody {
  const { planned, sent, unsent, succeeded, failed, bytes, targets, okTargets } = row;
  return {
    kind: row.kind,
    task: row.task,
    taskUid: row.taskUid,
    round: row.round,
    trigger: row.trigger,
    state: row.state,
    verdict: row.verdict,
    summary: row.verdict.summary,
    startTime: row.start.toISOString(),
    ...(row.deadline === null ? {} : { deadline: row.deadline.toISOString() }),
    endTime: row.closedAt.toISOString(),
    duration: goDuration(row.closedAt.getTime() - row.start.getTime()),
    totals: { planned, sent, unsent, succeeded, failed, bytes, targets, okTargets, runners: row.runners },
    successRate: successRate(row, row.state === 'canceled'),
    ...optional('latency', latencySummary(distributionOf(row))),
    ...optional('errors', row.errors),
    ...optional('statusCodes', row.statusCodes),
    ...optional('replyCodes', row.replyCodes),
    ...optional('comparison', row.comparison),
    nodes: nodesOf(runners),
    missing: runners.filter((runner) => runner.state === 'missing').map(({ runner, node, reason }) => ({ runner, node, reason: reason ?? 'unknown' })),
    notTested: row.notTested,
    suspect: runners.filter((runner) => runner.starvation?.suspect === true).map(({ runner, node, starvation }) => ({ runner, node, reasons: starvation!.reasons })),
    lateResults: row.lateResults,
  };
}

/** A node is failed when any of its runners is; one whose runners stayed silent is in neither list. */
export function nodesOf(runners: readonly RunnerBrief[]): { succeeded: string[]; failed: string[] } {
  const succeeded: string[] = [];
  const failed: string[] = [];
  for (const [node, all] of Map.groupBy(runners, (runner) => runner.node)) {
    const reported = all.filter((runner) => runner.state !== 'missing');
    if (reported.some((runner) => runner.state !== 'ok')) failed.push(node);
    else if (reported.length === all.length) succeeded.push(node);
  }
  return { succeeded: succeeded.sort(), failed: failed.sort() };
}

/** `canceled`: its round was. */
export function runnerReport(row: RunnerRow, canceled: boolean): RunnerReport {
  const { runner, node, state, targets, okTargets, planned, sent, unsent, succeeded, failed, bytes } = row;
  return {
    runner,
    node,
    ...optional('pod', row.pod),
    state,
    ...optional('reason', row.reason),
    ...optional('startTime', row.startedAt?.toISOString()),
    ...optional('endTime', row.endedAt?.toISOString()),
    targets,
    okTargets,
    planned,
    sent,
    unsent,
    succeeded,
    failed,
    bytes,
    successRate: successRate(row, canceled),
    ...optional('latency', latencySummary(row.latency)),
    ...optional('sendLagP99Us', row.lagP99Us === null ? null : round1(row.lagP99Us)),
    suspect: row.starvation?.suspect === true,
    ...optional('starvation', row.starvation),
    ...optional('runningLoad', row.runningLoad),
  };
}

/** A row of `report.results` joined with its runner's node. */
export interface TargetRow extends FlatDistribution {
  runner: string;
  node: string | null;
  target: string;
  layer: TargetReport['layer'];
  address: string;
  method: string;
  targetNode: string | null;
  family: 'v4' | 'v6' | null;
  interface: string | null;
  startedAt: Date;
  endedAt: Date;
  planned: number;
  sent: number;
  unsent: number;
  succeeded: number;
  failed: number;
  bytes: number;
  ok: boolean;
  reason: string | null;
  lagCount: number;
  lagP99: number;
  phases: number[] | null;
  errors: TargetReport['errors'] | null;
  statusCodes: Record<string, number> | null;
  replyCodes: Record<string, number> | null;
}

export const targetColumns = `x.runner, rr.node, x.target, x.layer, x.address, x.method, x.target_node as "targetNode", x.family, x.interface, x.started_at as "startedAt", x.ended_at as "endedAt",
  x.planned, x.sent, x.unsent, x.succeeded, x.failed, x.bytes::float8, x.ok, x.reason,
  x.latency_count as n, x.latency_sum_us as sum, x.latency_min_us as min, x.latency_max_us as max, x.latency_b as b, x.latency_c as c,
  x.lag_count as "lagCount", x.lag_p99_us as "lagP99", x.phases, x.errors, x.status_codes as "statusCodes", x.reply_codes as "replyCodes"`;

/** `canceled`: its round was. */
export function targetReport(row: TargetRow, canceled: boolean): TargetReport {
  const { runner, target, layer, address, method, planned, sent, unsent, succeeded, failed, bytes, ok } = row;
  return {
    runner,
    node: row.node ?? runner,
    target,
    layer,
    address,
    method,
    ...optional('targetNode', row.targetNode),
    ...optional('family', row.family),
    ...optional('interface', row.interface),
    startTime: row.startedAt.toISOString(),
    endTime: row.endedAt.toISOString(),
    planned,
    sent,
    unsent,
    succeeded,
    failed,
    bytes,
    successRate: successRate(row, canceled),
    ...optional('latency', latencySummary(distributionOf(row))),
    ...optional('sendLagP99Us', row.lagCount === 0 ? null : round1(row.lagP99)),
    ...optional('phases', row.phases === null ? null : phasesOf(row.phases)),
    ...optional('errors', row.errors),
    ...optional('statusCodes', row.statusCodes),
    ...optional('replyCodes', row.replyCodes),
    ok,
    ...optional('reason', row.reason),
  };
}

/** Three numbers per phase, as the table has them. */
function phasesOf(values: readonly number[]): TargetReport['phases'] {
  const phases: TargetReport['phases'] = {};
  phaseNames.forEach((name, i) => {
    const [count = 0, sumUs = 0, maxUs = 0] = values.slice(i * 3, i * 3 + 3);
    if (count > 0) phases[name] = { count, meanUs: round1(sumUs / count), maxUs: round1(maxUs) };
  });
  return phases;
}

export function latencySummary(data: Distribution): LatencySummary | undefined {
  if (data.count === 0) return undefined;
  const at = (q: number): number => round1(Math.min(data.maxUs, Math.max(data.minUs, quantile(data.histogram, q) ?? data.maxUs)));
  const us = { minUs: round1(data.minUs), meanUs: round1(data.sumUs / data.count), p50Us: at(0.5), p90Us: at(0.9), p95Us: at(0.95), p99Us: at(0.99), maxUs: round1(data.maxUs) };
  return {
    count: data.count,
    minMs: ms(us.minUs), meanMs: ms(us.meanUs), p50Ms: ms(us.p50Us), p90Ms: ms(us.p90Us), p95Ms: ms(us.p95Us), p99Ms: ms(us.p99Us), maxMs: ms(us.maxUs),
    ...us,
  };
}

/** `1m2.5s`, as Go prints it. */
export function goDuration(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const total = Math.abs(ms) / 1000;
  if (total < 1) return total === 0 ? '0s' : `${sign}${Math.round(total * 1000)}ms`;
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const seconds = Math.round((total % 60) * 1000) / 1000;
  return `${sign}${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

/** Kubernetes times have whole seconds. */
export function wholeSeconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** One decimal of a microsecond: more is noise. */
export function round1(us: number): number {
  return Math.round(us * 10) / 10;
}

/** Without the digits that division leaves behind. */
function ms(us: number): number {
  return Math.round(us * 10) / 10_000;
}

/** A UUID that is always the same for the same report and no other object's: that of one round, or the last one of a task. */
export function reportUid(taskUid: string, round?: number): string {
  const hex = createHash('sha256').update(`roundsman report ${round === undefined ? taskUid : `${taskUid}/${round}`}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function optional<K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } {
  return (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
