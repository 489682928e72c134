import {
  roundAnnotations,
  roundObjectName,
  taskAnnotations,
  taskLabels,
  taskResources,
  type KubeObject,
  type RoundSpec,
  type SuccessCondition,
  type TaskKind,
  type WorkOrder,
} from '@roundsman/api';
import type { Task } from './caches.ts';
import type { Carrier, Expected } from './carrier.ts';
import { dnsServersOf } from './dns-servers.ts';
import type { PlannedRound } from './plan.ts';
import { familyOf } from './targets/family.ts';
import { addressedOf, notTestedOf, targetsOf, type Addressed } from './targets/targets.ts';

const rfc3339 = (ms: number): string => new Date(ms).toISOString();
const labelLimit = 63;

type NewRound = Omit<KubeObject<RoundSpec>, 'metadata'> & { metadata: Partial<KubeObject['metadata']> };

/** The Round to create: its name is the same whoever makes it and however often. It holds all that its work is made of, as it is now. */
export function roundObject(task: Task, planned: PlannedRound, carrier: Carrier): NewRound {
  const kind = task.kind as TaskKind;
  const { name, uid, generation } = task.metadata;
  const namespace = task.metadata.namespace ?? 'default';
  const taskRef = { kind, resource: taskResources[kind], namespace, name, uid, generation };
  const taskSpec = task.spec as unknown as Record<string, unknown>;
  const facts = { taskRef, number: planned.number, taskSpec, ...(planned.trigger === 'missed' ? { runners: [] } : carried(task, carrier)) };
  const notTested = planned.trigger === 'missed' ? [] : notTestedOf(facts, carrier.capabilities, { ...carrier.reasons, dnsServers: dnsServersOf(task).why });
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
      ...facts,
      startTime: rfc3339(planned.startMs),
      deadline: rfc3339(planned.deadlineMs),
      trigger: planned.trigger,
      ...(notTested.length > 0 ? { notTested } : {}),
    },
  };
}

export const cancelAsked = (task: Task): string => task.metadata.annotations?.[taskAnnotations.cancel] ?? '';

/** Each runner's part of a round. The same for every attempt. */
export function workOrders(spec: RoundSpec): (runner: Pick<RoundSpec['runners'][number], 'runner' | 'node'>) => WorkOrder {
  const { taskRef, number, startTime, deadline } = spec;
  const { request, expect } = spec.taskSpec as unknown as { request: Task['spec']['request']; expect: Record<string, unknown> };
  const targetsFor = targetsOf(spec);
  return ({ runner, node }) => {
    const targets = [...targetsFor(runner)];
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

/** Who carries it and what is tested by which ways: of these what the task asks for, so that a Round of hundreds of nodes stays small. */
function carried(task: Task, { runtime, runners, paths }: Carrier): Pick<RoundSpec, 'runtime' | 'runners' | 'paths' | 'dnsServers'> {
  const target = (task.spec as { target?: Partial<Record<string, unknown>> }).target ?? {};
  const addressed = addressedOf(task.kind as TaskKind, task.spec);
  const byService = target['clusterIP'] === true || target['nodePort'] === true || target['loadBalancer'] === true;
  const byIngress = target['ingress'] === true;
  const { dnsServers } = task.status ?? {};
  return {
    runtime,
    runners: runners.map((expected) => assignment(expected, addressed, target['multusInterface'] === true)),
    ...(paths === undefined || task.kind !== 'NetReach' || !(byService || byIngress)
      ? {}
      : {
          paths: {
            services: byService ? paths.services : [],
            ...(target['nodePort'] === true && paths.nodes !== undefined ? { nodes: paths.nodes } : {}),
            ...(byIngress && paths.ingress !== undefined ? { ingress: paths.ingress } : {}),
          },
        }),
    ...(target['targetDns'] === undefined || dnsServers === undefined ? {} : { dnsServers }),
  };
}

function assignment({ runner, node, notReady, pod, interfaces, addresses, ports }: Expected, addressed: Addressed | undefined, withInterfaces: boolean): RoundSpec['runners'][number] {
  const expected = { runner, node, ...(pod === undefined ? {} : { pod }) };
  if (notReady !== undefined) return { ...expected, notReady };
  if (addressed === undefined) return expected;
  return {
    ...expected,
    addresses: addresses.filter((address) => addressed.families.some((family) => family === familyOf(address))),
    ports: Object.fromEntries(Object.entries(ports).filter(([name]) => addressed.ports.includes(name))),
    ...(withInterfaces && interfaces !== undefined ? { interfaces } : {}),
  };
}
