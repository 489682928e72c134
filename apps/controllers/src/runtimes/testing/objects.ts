import { runtimeFinalizer, runtimeLabels, type AgentSpec, type AnyTask, type DaemonSet, type Ingress, type KubeObject, type Node, type Pod, type Round, type Runner, type Runtime, type RuntimeStatus, type Service } from '@roundsman/api';
import { settingsSchema, type Settings } from '../../settings.ts';
import { ownRuntimeOf } from '../lifetime/own-runtime.ts';
import type { Observation } from '../status/observation.ts';

/** Objects as specs need them. */
export const startMs = Date.UTC(2026, 0, 1);
export const iso = (ms: number): string => new Date(ms).toISOString();
export const settingsOf = (given: Record<string, string> = {}): Settings => settingsSchema.parse({ kubeconfig: '/k', defaultRuntime: 'daemonset', ...given });

const metaOf = (name: string, namespace: string | undefined, more: object = {}): KubeObject['metadata'] => ({ name, ...(namespace === undefined ? {} : { namespace }), uid: `uid-${name}`, resourceVersion: '1', generation: 1, creationTimestamp: iso(startMs), ...more });

export const taskOf = (agentSpec: Partial<AgentSpec> | undefined, more: { target?: object; metadata?: object; schedule?: object; kind?: AnyTask['kind'] } = {}): AnyTask =>
  ({
    apiVersion: 'roundsman.io/v1',
    kind: more.kind ?? 'NetReach',
    metadata: metaOf('mesh', 'shop', more.metadata),
    spec: {
      ...(agentSpec === undefined ? {} : { agentSpec: { kind: 'DaemonSet', terminationGracePeriodMinutes: 60, ...agentSpec } }),
      schedule: { schedule: '0 1', roundNumber: 1, ...more.schedule },
      request: { durationInSecond: 1, qps: 1, perRequestTimeoutInMS: 100 },
      target: { ipv4: true, ...more.target },
    },
  }) as unknown as AnyTask;

export type OwnRuntime = Runtime & { spec: { workload: string } };
export function runtimeOf(task: AnyTask, settings = settingsOf(), more: { hostPort?: number; status?: RuntimeStatus; metadata?: object } = {}): OwnRuntime {
  const { metadata, ...draft } = ownRuntimeOf(task, (task.spec as unknown as { agentSpec: AgentSpec }).agentSpec, settings, more.hostPort);
  return { ...draft, metadata: { ...metaOf(metadata.name ?? '', metadata.namespace), ...metadata, ...more.metadata, finalizers: [runtimeFinalizer] }, ...(more.status === undefined ? {} : { status: more.status }) } as OwnRuntime;
}

export const roundOf = (number: number, state: string | undefined, closedMs = startMs): Round =>
  ({
    metadata: metaOf(`r-${number}`, 'shop', { annotations: { 'roundsman.io/scheduled-rounds': String(number), 'roundsman.io/last-scheduled-start': iso(startMs) } }),
    spec: { number, startTime: iso(startMs), deadline: iso(startMs + 60_000), trigger: 'schedule', runners: [], taskRef: { generation: 1 } },
    ...(state === undefined ? {} : { status: { state, ...(state === 'ongoing' ? {} : { closedAt: iso(closedMs) }) } }),
  }) as unknown as Round;

export const nodeOf = (name: string, more: { ready?: 'True' | 'False' | 'Unknown'; message?: string; sinceMs?: number; address?: string; labels?: Record<string, string> } = {}): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: metaOf(name, undefined, { labels: { 'kubernetes.io/os': 'linux', ...more.labels } }),
    spec: {},
    status: { addresses: [{ type: 'Hostname', address: name }, { type: 'InternalIP', address: more.address ?? '10.0.0.1' }], conditions: [{ type: 'Ready', status: more.ready ?? 'True', reason: 'r', message: more.message ?? 'fine', lastTransitionTime: iso(more.sinceMs ?? startMs) }] },
  }) as unknown as Node;

export const podOf = (name: string, node: string | undefined, more: { runtime?: Runtime; ready?: boolean; metadata?: object; status?: object; spec?: object } = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metaOf(name, 'shop', { labels: { [runtimeLabels.runtime]: more.runtime?.metadata.name ?? 'rt' }, ...more.metadata }),
    spec: { ...(node === undefined ? {} : { nodeName: node }), containers: [], ...more.spec },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: (more.ready ?? true) ? 'True' : 'False' }], containerStatuses: [], ...more.status },
  }) as unknown as Pod;

export const runnerOf = (name: string, runtime: string, node: string, more: { pod?: string; ready?: boolean } = {}): Runner =>
  ({ apiVersion: 'roundsman.io/v1', kind: 'Runner', metadata: metaOf(name, undefined), spec: {}, status: { node, runtime, ...(more.pod === undefined ? {} : { pod: more.pod }), ready: more.ready ?? true, instance: 'i', version: '1', addresses: [], ports: {}, capacityQps: 1, lastTransitionTime: iso(startMs) } }) as unknown as Runner;

export const serviceOf = (name: string, spec: object, ingress?: object[]): Service =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: metaOf(name, 'shop'), spec: { type: 'ClusterIP', clusterIP: '10.96.0.9', ports: [{ name: 'http', port: 80, ...(spec as { nodePort?: object }) }], ...spec }, status: { loadBalancer: ingress === undefined ? {} : { ingress } } }) as unknown as Service;

/** What its Service leads to. */
export const sliceOf = (service: string, pods: readonly string[]): Observation['slices'][number] =>
  ({ metadata: metaOf(`${service}-x`, 'shop', { labels: { 'kubernetes.io/service-name': service } }), endpoints: pods.map((name) => ({ addresses: ['10.1.0.1'], conditions: { ready: true }, targetRef: { kind: 'Pod', name } })) }) as unknown as Observation['slices'][number];

export const ingressObject = (name: string, ingressClassName: string | undefined, addresses?: object[]): Ingress =>
  ({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: metaOf(name, 'shop'), spec: ingressClassName === undefined ? {} : { ingressClassName }, status: { loadBalancer: addresses === undefined ? {} : { ingress: addresses } } }) as unknown as Ingress;

export const daemonSetOf = (name: string): DaemonSet => ({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: metaOf(name, 'shop'), spec: { template: { spec: {} } }, status: {} }) as unknown as DaemonSet;

export const observed = (runtime: Runtime, seen: Partial<Observation> = {}): Observation => ({
  runtime, workload: daemonSetOf(runtime.spec.workload ?? ''), pods: [], services: [], slices: [], ingress: undefined, ingressClasses: [], nodes: [], runners: [],
  fits: () => true, noPods: undefined, problems: new Map(), stale: undefined, settings: settingsOf(), nowMs: startMs + 1_000, ...seen,
});
