import type { ContainerConfig, Owner, SandboxNetwork, SandboxSpec } from '../pod-runtime.ts';

const label = {
  cluster: 'roundsman.io/cluster',
  node: 'roundsman.io/node',
  attempt: 'roundsman.io/attempt',
  annotations: 'roundsman.io/annotations',
  sharedProcesses: 'roundsman.io/share-process-namespace',
  network: 'roundsman.io/network',
  type: 'io.kubernetes.docker.type',
  podUid: 'io.kubernetes.pod.uid',
  podName: 'io.kubernetes.pod.name',
  namespace: 'io.kubernetes.pod.namespace',
  container: 'io.kubernetes.container.name',
} as const;

/** What the labels of a container say; `container` is absent on a sandbox. */
export interface Labelled {
  readonly podUid: string;
  readonly podName: string;
  readonly namespace: string;
  readonly container: string | undefined;
  readonly attempt: number;
  readonly annotations: Readonly<Record<string, string>>;
}

type PodOf = Pick<SandboxSpec, 'podUid' | 'podName' | 'namespace'>;

const podLabels = ({ cluster, node }: Owner, { podUid, podName, namespace }: PodOf): Record<string, string> => ({
  [label.cluster]: cluster,
  [label.node]: node,
  [label.podUid]: podUid,
  [label.podName]: podName,
  [label.namespace]: namespace,
});

export const sandboxLabels = (owner: Owner, spec: SandboxSpec): Record<string, string> => ({
  ...podLabels(owner, spec),
  [label.type]: 'podsandbox',
  [label.sharedProcesses]: String(spec.shareProcessNamespace),
  [label.network]: JSON.stringify(spec.network),
});

/** As a filter of the daemon's lists. */
export const isSandbox = `${label.type}=podsandbox`;

/** Of a sandbox, as it was made. */
export const networkOf = (labels: Readonly<Record<string, string>>): SandboxNetwork | undefined => {
  const text = labels[label.network];
  return text === undefined ? undefined : (JSON.parse(text) as SandboxNetwork);
};

export const isOfCluster = (labels: Readonly<Record<string, string>>, { cluster }: Pick<Owner, 'cluster'>): boolean => labels[label.cluster] === cluster;

/** On what is no container and belongs to all nodes of a cluster. */
export const clusterLabels = ({ cluster }: Pick<Owner, 'cluster'>): Record<string, string> => ({ [label.cluster]: cluster });

export const sharesProcesses = (labels: Readonly<Record<string, string>>): boolean => labels[label.sharedProcesses] === 'true';

export const containerLabels = (owner: Owner, { name, attempt, annotations, ...pod }: ContainerConfig): Record<string, string> => ({
  ...podLabels(owner, pod),
  [label.type]: 'container',
  [label.container]: name,
  [label.attempt]: String(attempt),
  [label.annotations]: JSON.stringify(annotations),
});

/** As filters of the daemon's lists and events; with a pod's uid only what is its. */
export const ownedBy = ({ cluster, node }: Owner, podUid?: string): string[] => [
  `${label.cluster}=${cluster}`,
  `${label.node}=${node}`,
  ...(podUid === undefined ? [] : [`${label.podUid}=${podUid}`]),
];

export const isOwnedBy = (labels: Readonly<Record<string, string>>, { cluster, node }: Owner): boolean => labels[label.cluster] === cluster && labels[label.node] === node;

export function readLabels(labels: Readonly<Record<string, string>>): Labelled {
  return {
    podUid: labels[label.podUid] ?? '',
    podName: labels[label.podName] ?? '',
    namespace: labels[label.namespace] ?? '',
    container: labels[label.type] === 'podsandbox' ? undefined : (labels[label.container] ?? ''),
    attempt: Number(labels[label.attempt] ?? 0),
    annotations: JSON.parse(labels[label.annotations] ?? '{}') as Record<string, string>,
  };
}

/** The names that Kubernetes gives to containers on Docker. */
export const sandboxName = ({ podUid, podName, namespace }: PodOf): string => `k8s_POD_${podName}_${namespace}_${podUid}_0`;
export const containerName = ({ podUid, podName, namespace, name, attempt }: ContainerConfig): string => `k8s_${name}_${podName}_${namespace}_${podUid}_${attempt}`;
