import {
  roundAnnotations,
  roundObjectName,
  taskAnnotations,
  taskLabels,
  taskResources,
  type KubeObject,
  type RoundSpec,
  type Runner,
  type SuccessCondition,
  type TaskKind,
  type WorkOrder,
} from '@roundsman/api';
import type { Task } from './caches.ts';
import type { PlannedRound } from './plan.ts';
import { notTestedOf, targetsOf, type Peer } from './targets.ts';

const rfc3339 = (ms: number): string => new Date(ms).toISOString();
const labelLimit = 63;

/** The Round to create: its name is the same whoever makes it and however often. `runners`: all of the runtime, ready or not. */
export function roundObject(task: Task, planned: PlannedRound, runners: readonly Runner[]): Omit<KubeObject<RoundSpec>, 'metadata'> & { metadata: Partial<KubeObject['metadata']> } {
  const kind = task.kind as TaskKind;
  const { name, uid, generation } = task.metadata;
  const namespace = task.metadata.namespace ?? 'default';
  const taskRef = { kind, resource: taskResources[kind], namespace, name, uid, generation };
  const missed = planned.trigger === 'missed';
  const expected = missed ? [] : [...runners].sort(byName).map(assignment);
  const ready = peersOf({ runners: expected }, (runner) => runners.find(({ metadata }) => metadata.name === runner));
  const notTested = missed ? [] : notTestedOf(taskRef, task.spec, ready);
  const { ledger } = planned;
  return {
    apiVersion: 'roundsman.io/v1',
    kind: 'Round',
    metadata: {
      name: roundObjectName(kind, name, uid, planned.number),
      namespace,
      labels: { [taskLabels.kind]: kind, [taskLabels.uid]: uid, [taskLabels.round]: String(planned.number), ...(name.length <= labelLimit ? { [taskLabels.name]: name } : {}) },
      annotations: {
        [roundAnnotations.scheduled]: String(ledger.scheduled),
        ...(ledger.lastScheduledMs === undefined ? {} : { [roundAnnotations.lastScheduledStart]: rfc3339(ledger.lastScheduledMs) }),
        [roundAnnotations.runNow]: ledger.handledRunNow,
        [roundAnnotations.cancel]: cancelAsked(task),
        ...(planned.skipped > 0 ? { [roundAnnotations.skipped]: String(planned.skipped) } : {}),
      },
      ownerReferences: [{ apiVersion: task.apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: false }],
    },
    spec: {
      taskRef,
      number: planned.number,
      startTime: rfc3339(planned.startMs),
      deadline: rfc3339(planned.deadlineMs),
      taskSpec: task.spec as unknown as Record<string, unknown>,
      runners: expected,
      trigger: planned.trigger,
      ...(notTested.length > 0 ? { notTested } : {}),
    },
  };
}

export const cancelAsked = (task: Task): string => task.metadata.annotations?.[taskAnnotations.cancel] ?? '';

/** The runners of a round that were ready when it was made, in name order, with what is known of them now. */
export function peersOf(spec: Pick<RoundSpec, 'runners'>, runnerOf: (name: string) => Runner | undefined): Peer[] {
  return spec.runners
    .filter(({ notReady }) => notReady === undefined)
    .flatMap(({ runner }) => {
      const status = runnerOf(runner)?.status;
      return status === undefined ? [] : [{ runner, status }];
    })
    .sort((a, b) => (a.runner < b.runner ? -1 : 1));
}

/** One runner's part of a round. The same for every attempt as long as the runners stay where they are. */
export function workOrder(spec: RoundSpec, { runner, node }: RoundSpec['runners'][number], peers: readonly Peer[]): WorkOrder {
  const { taskRef, number, startTime, deadline } = spec;
  const { request, expect } = spec.taskSpec as unknown as { request: Task['spec']['request']; expect: Record<string, unknown> };
  const targets = targetsOf(taskRef, number, spec.taskSpec, runner, peers);
  return {
    runner,
    node,
    kind: taskRef.kind,
    namespace: taskRef.namespace,
    task: taskRef.name,
    taskUid: taskRef.uid,
    round: number,
    roundStart: startTime,
    deadline,
    request: { durationMs: request.durationInSecond * 1000, qps: request.qps, timeoutMs: request.perRequestTimeoutInMS },
    expect: conditionOf(taskRef.kind, expect),
    targets,
    needsMaterials: targets.some((target) => target.hasTls || (target.probe === 'http' && target.hasBody)),
  };
}

function conditionOf(kind: TaskKind, expect: Record<string, unknown>): SuccessCondition {
  const { successRate, meanAccessDelayInMs, statusCode, rcode, answers } = expect as SuccessCondition;
  return {
    ...(successRate === undefined ? {} : { successRate }),
    ...(meanAccessDelayInMs === undefined ? {} : { meanAccessDelayInMs }),
    ...(kind === 'AppHttpHealthy' && statusCode !== undefined ? { statusCode } : {}),
    ...(kind === 'NetDNS' && rcode !== undefined ? { rcode } : {}),
    ...(kind === 'NetDNS' && answers !== undefined ? { answers } : {}),
  };
}

const byName = (a: Runner, b: Runner): number => (a.metadata.name < b.metadata.name ? -1 : 1);

function assignment({ metadata, status }: Runner): RoundSpec['runners'][number] {
  const notReady = status === undefined ? 'it has not reported yet' : status.ready ? undefined : (status.reason ?? 'not ready');
  return { runner: metadata.name, node: status?.node ?? '', ...(notReady === undefined ? {} : { notReady }) };
}
