import type { Node, NodeCondition, PersistentVolume, PersistentVolumeClaim, Pod, PodSpec, StorageClass, Taint } from '@roundsman/api';
import type { Cluster } from '../cluster/cluster.ts';
import { NodeInfo } from '../cluster/node-info.ts';
import { podInfo, type PodInfo } from '../cluster/pod-info.ts';
import { ClusterState } from '../cluster/state.ts';
import type { Filter } from '../filters/filter.ts';
import type { Score } from '../scores/score.ts';

let made = 0;
const meta = (name: string) => ({ name, uid: `uid-${++made}`, resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' });

export interface NodeParts {
  readonly labels?: Record<string, string>;
  readonly taints?: Taint[];
  readonly unschedulable?: boolean;
  readonly allocatable?: Record<string, string>;
  readonly conditions?: Pick<NodeCondition, 'type' | 'status' | 'message'>[];
  readonly images?: { names: string[]; sizeBytes: number }[];
}

/** A ready node of 4 cores, 8Gi and 110 pods, unless told otherwise. */
export function node(name: string, { labels = {}, taints, unschedulable, allocatable = {}, conditions, images }: NodeParts = {}): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...meta(name), labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { ...(taints === undefined ? {} : { taints }), ...(unschedulable === undefined ? {} : { unschedulable }) },
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...allocatable }, conditions: conditions ?? [{ type: 'Ready', status: 'True' }], ...(images === undefined ? {} : { images }) },
  };
}

export interface PodParts extends Omit<Partial<PodSpec>, 'containers' | 'initContainers'> {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  /** Of its one container. */
  readonly requests?: Record<string, string>;
  readonly ports?: PodSpec['containers'][number]['ports'];
  readonly containers?: Partial<PodSpec['containers'][number]>[];
  readonly initContainers?: Partial<PodSpec['containers'][number]>[];
  readonly owner?: { readonly kind: string; readonly name: string };
  readonly terminating?: boolean;
  readonly status?: Pod['status'];
}

const container = (parts: Partial<PodSpec['containers'][number]>): PodSpec['containers'][number] => ({
  name: 'c',
  image: 'busybox',
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  ...parts,
});

export function pod(name: string, { namespace = 'default', labels = {}, requests, ports, containers, initContainers, owner, terminating, status, ...spec }: PodParts = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...meta(name),
      namespace,
      labels,
      ...(owner === undefined ? {} : { ownerReferences: [{ apiVersion: 'apps/v1', uid: 'owner', controller: true, ...owner }] }),
      ...(terminating === true ? { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 } : {}),
    },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      schedulerName: 'default-scheduler',
      securityContext: {},
      ...spec,
      containers: (containers ?? [{ resources: requests === undefined ? {} : { requests }, ...(ports === undefined ? {} : { ports }) }]).map(container),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(container) }),
    },
    ...(status === undefined ? {} : { status }),
  };
}

export const info = (name: string, parts: PodParts = {}): PodInfo => podInfo(pod(name, parts));

/** A node with these pods on it. */
export const nodeWith = (name: string, pods: readonly PodInfo[] = [], parts: NodeParts = {}): NodeInfo => new NodeInfo(node(name, parts), pods);

/** Storage that consists of these objects. */
export function storageOf(...objects: readonly (PersistentVolumeClaim | PersistentVolume | StorageClass)[]): Cluster['storage'] {
  const of = <T>(kind: string): T[] => objects.filter((one) => one.kind === kind) as unknown as T[];
  const named = <T extends { metadata: { name: string; namespace?: string | undefined } }>(kind: string, name: string, namespace?: string): T | undefined => of<T>(kind).find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  return {
    claim: (namespace, name) => named<PersistentVolumeClaim>('PersistentVolumeClaim', name, namespace),
    volume: (name) => named<PersistentVolume>('PersistentVolume', name),
    volumes: () => of<PersistentVolume>('PersistentVolume'),
    storageClass: (name) => named<StorageClass>('StorageClass', name),
  };
}

/** A cluster of copies of these nodes, with the pods that are on them. */
export function cluster(nodes: readonly NodeInfo[], parts: Partial<Pick<Cluster, 'namespaceLabels' | 'ownPods' | 'storage'>> = {}): ClusterState {
  const state = new ClusterState({ namespaceLabels: () => ({}), ownPods: () => undefined, storage: storageOf(), ...parts });
  for (const one of nodes) {
    state.setNode(one.node);
    for (const placed of one.pods.values()) state.place(placed, one.name);
  }
  return state;
}

/** What a filter says of each node: its reasons, or `ok`; with `!` where preemption could help. */
export function said(filter: Filter, asked: PodInfo, nodes: readonly NodeInfo[], parts: Parameters<typeof cluster>[1] = {}): string[] {
  const where = cluster(nodes, parts);
  const check = filter.prepare(asked, where);
  return where.nodes.map((one) => {
    const refusal = check?.(one);
    return refusal === undefined ? 'ok' : `${refusal.preemptible ? '!' : ''}${refusal.reasons.join(', ')}`;
  });
}

/** What a score gives each node; undefined when it makes no difference. */
export function scored(score: Score, asked: PodInfo, nodes: readonly NodeInfo[], parts: Parameters<typeof cluster>[1] = {}): readonly number[] | undefined {
  const where = cluster(nodes, parts);
  return score.of(asked, where.nodes, where);
}
