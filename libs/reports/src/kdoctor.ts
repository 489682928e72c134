import type { TaskKind } from '@roundsman/api';
import { goDuration, latencySummary, wholeSeconds, type RoundRow, type TargetRow } from './render.ts';
import { distributionOf, type RunnerRow } from './runners.ts';

/** The task as its report shows it; the caller has it from the stored object. */
export interface KdoctorTask {
  readonly uid: string;
  readonly kind: TaskKind;
  readonly name: string;
  readonly creationTimestamp: string;
  /** As kdoctor.io/v1beta1 has it. */
  readonly spec: unknown;
  readonly expectedRound: number | undefined;
  readonly doneRound: number | undefined;
  readonly finished: boolean;
}

/** Of system.kdoctor.io/v1beta1, field by field as kdoctor serves it. */
export interface KdoctorReport {
  apiVersion: 'system.kdoctor.io/v1beta1';
  kind: 'KdoctorReport';
  metadata: { name: string; creationTimestamp: string };
  report: { latestRoundReport: Record<string, unknown>[] };
  status: { totalRoundNumber: number; roundFinishedNumber: number; status: 'Finished' | 'NotFinished'; roundNumber: number };
  task: { name: string; kind: string; spec: Record<string, unknown> };
}

const forms = {
  NetReach: { kind: 'NetReach', spec: 'netReach', task: 'taskNetReach', targetType: 'NetReach', failure: 'failureReason' },
  AppHttpHealthy: { kind: 'AppHttpHealthy', spec: 'appHttpHealthy', task: 'taskAppHealthy', targetType: 'HttpAppHealthy', failure: 'reasonsForFailure' },
  NetDNS: { kind: 'Netdns', spec: 'netDns', task: 'taskNetDns', targetType: 'kdoctor agent', failure: 'reasonsForFailure' },
} as const;

export function kdoctorReport(task: KdoctorTask, round: RoundRow, runners: readonly RunnerRow[], targets: readonly TargetRow[]): KdoctorReport {
  const form = forms[task.kind];
  const of = Map.groupBy(targets, ({ runner }) => runner);
  return {
    apiVersion: 'system.kdoctor.io/v1beta1',
    kind: 'KdoctorReport',
    metadata: { name: `${form.kind.toLowerCase()}-${task.name}`, creationTimestamp: task.creationTimestamp },
    report: { latestRoundReport: runners.map((runner) => agentReport(task.kind, round, runner, of.get(runner.runner) ?? [], runners)) },
    status: {
      totalRoundNumber: task.expectedRound ?? 0,
      roundFinishedNumber: task.doneRound ?? round.round,
      status: task.finished ? 'Finished' : 'NotFinished',
      roundNumber: round.round,
    },
    task: { name: task.name, kind: form.kind, spec: { [form.spec]: task.spec } },
  };
}

function agentReport(kind: TaskKind, round: RoundRow, runner: RunnerRow, targets: readonly TargetRow[], runners: readonly RunnerRow[]): Record<string, unknown> {
  const form = forms[kind];
  const succeeded = runner.state === 'ok';
  const start = runner.startedAt ?? round.start;
  const end = runner.endedAt ?? round.closedAt;
  const reason = succeeded ? {} : { reasonsForFailure: runner.reason ?? targets.find((target) => !target.ok)?.reason ?? runner.state };
  const cpu = `${((runner.starvation?.cpuShare ?? 0) * 100).toFixed(3)}%`;
  return {
    roundNumber: round.round,
    roundResult: succeeded ? 'succeed' : 'fail',
    nodeName: runner.node,
    podName: podNameOf(runner),
    ...reason,
    roundStartTimeStamp: wholeSeconds(start),
    roundEndTimeStamp: wholeSeconds(end),
    roundDuration: goDuration(end.getTime() - start.getTime()),
    [form.task]: {
      targetType: form.targetType,
      targetNumber: runner.targets,
      ...reason,
      roundSucceed: succeeded,
      systemResource: { maxCPU: cpu, meanCPU: cpu, maxMemory: `${((runner.starvation?.rssBytes ?? 0) / 1048576).toFixed(2)}MB` },
      runningLoadTotal: { appHttpHealthyQPS: runner.runningLoad?.['AppHttpHealthy'] ?? 0, netReachQPS: runner.runningLoad?.['NetReach'] ?? 0, netDnsQPS: runner.runningLoad?.['NetDNS'] ?? 0 },
      roundTaskDetail: targets.map((target) => (kind === 'NetDNS' ? dnsDetail(target) : httpDetail(kind, runner, target, runners))),
    },
  };
}

function httpDetail(kind: TaskKind, runner: RunnerRow, target: TargetRow, runners: readonly RunnerRow[]): Record<string, unknown> {
  const unanswered = target.sent - sum(target.statusCodes);
  return {
    name: kind === 'NetReach' ? netReachName(runner, target, runners) : 'HttpAppHealthy target',
    url: target.address,
    method: target.method,
    ...outcome(target),
    ...(target.ok ? {} : { [forms[kind].failure]: target.reason ?? 'failed' }),
    requestTargetMetrics: {
      ...metrics(target),
      totalDataSize: `${target.bytes} byte`,
      statusCodes: { ...target.statusCodes, ...(unanswered > 0 ? { 0: unanswered } : {}) },
    },
  };
}

/** The address of a DNS target is `server:port/type/domain`. */
function dnsDetail(target: TargetRow): Record<string, unknown> {
  const [server = '', type = '', domain = ''] = target.address.split('/');
  return {
    name: `type${type}_${server}_${domain}`,
    requestServer: server,
    protocol: target.method,
    ...outcome(target),
    reasonsForFailure: target.ok ? null : (target.reason ?? 'failed'),
    requestTargetMetrics: { ...metrics(target), domain, server, method: target.method, failedCounts: target.failed, replyCode: target.replyCodes ?? {} },
  };
}

/** kdoctor names a NetReach target after its path and family. */
function netReachName(runner: RunnerRow, row: TargetRow, runners: readonly RunnerRow[]): string {
  const { layer, family, address, target } = row;
  const v = family === 'v6' ? 'V6' : 'V4';
  const at = hostAndPort(address);
  switch (layer) {
    case 'endpoint':
      return `AgentPod${v}IP_${podOfTarget(row, runners)}_${at.host}`;
    case 'clusterIP':
      return `AgentCluster${v}IP_${at.both}`;
    case 'nodePort':
      return `AgentNodePort${v}IP_${at.host}_${at.port}`;
    case 'loadBalancer':
      return `AgentLoadbalancer${v}IP_${at.both}`;
    case 'ingress':
      return `AgentIngress_${v.toLowerCase()}_${address}`;
    default:
      return `${target}_${runner.node}`;
  }
}

/** Without the namespace, as kdoctor has it; a process has its own name alone. */
const podNameOf = ({ pod, runner }: RunnerRow): string => (pod === null ? runner : pod.slice(pod.indexOf('/') + 1));

/** Several runners on one node have their name in the target's. */
function podOfTarget({ target, targetNode }: TargetRow, runners: readonly RunnerRow[]): string {
  const there = runners.filter(({ node, pod }) => node === targetNode && pod !== null);
  const parts = target.split('/');
  const named = there.length === 1 ? there[0] : there.find(({ runner }) => parts.includes(runner));
  return named === undefined ? (targetNode ?? target) : podNameOf(named);
}

function hostAndPort(address: string): { host: string; port: string; both: string } {
  const url = URL.parse(address);
  return url === null ? { host: address, port: '', both: address } : { host: url.hostname, port: url.port, both: url.host };
}

function outcome(target: TargetRow): Record<string, unknown> {
  return {
    requestSucceed: target.ok,
    requestMeanDelay: latencySummary(distributionOf(target))?.meanMs ?? 0,
    requestSucceedRate: target.planned === 0 ? 0 : target.succeeded / target.planned,
  };
}

function metrics(target: TargetRow): Record<string, unknown> {
  const wallMs = target.endedAt.getTime() - target.startedAt.getTime();
  const latency = latencySummary(distributionOf(target));
  return {
    requestStartTime: wholeSeconds(target.startedAt),
    requestEndTime: wholeSeconds(target.endedAt),
    requestDuration: goDuration(wallMs),
    requestCounts: target.sent,
    successCounts: target.succeeded,
    tps: wallMs <= 0 ? 0 : target.sent / (wallMs / 1000),
    errors: target.errors ?? {},
    latencies: {
      p50InMs: latency?.p50Ms ?? 0, p90InMs: latency?.p90Ms ?? 0, p95InMs: latency?.p95Ms ?? 0, p99InMs: latency?.p99Ms ?? 0,
      maxInMs: latency?.maxMs ?? 0, minInMs: latency?.minMs ?? 0, meanInMs: latency?.meanMs ?? 0,
    },
    existsNotSendRequests: target.unsent > 0,
  };
}

function sum(counts: Record<string, number> | null): number {
  return Object.values(counts ?? {}).reduce((total, count) => total + count, 0);
}
