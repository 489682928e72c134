import type { KubeObject, NodeMetrics, Pod, PodMetrics } from '@roundsman/api';
import type { Stats } from './node-stats.ts';

const quantities = ({ cpuNanoCores, memoryBytes }: { readonly cpuNanoCores: number; readonly memoryBytes: number }): Record<string, string> => ({ cpu: `${Math.round(cpuNanoCores)}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` });

/** `metadata` is the object's name and labels, and the time of the measurement. */
function measured({ metadata }: Pick<KubeObject, 'metadata'>, { at, windowSeconds }: Stats) {
  const { name, namespace, labels } = metadata;
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(labels === undefined ? {} : { labels }), creationTimestamp: at } as KubeObject['metadata'],
    timestamp: at,
    window: `${Number(windowSeconds.toFixed(3))}s`,
  };
}

/** What a node uses, as metrics.k8s.io says it. */
export const nodeMetricsOf = (node: Pick<KubeObject, 'metadata'>, stats: Stats): NodeMetrics => ({ kind: 'NodeMetrics', apiVersion: 'metrics.k8s.io/v1beta1', ...measured(node, stats), usage: quantities(stats.node) });

/** What the containers of a pod use. Undefined when its agent says nothing of this very pod, or not of all its containers that run: a sum would be too small. */
export function podMetricsOf(pod: Pick<Pod, 'metadata' | 'status'>, stats: Stats): PodMetrics | undefined {
  const containers = stats.pods.find(({ uid }) => uid === pod.metadata.uid)?.containers;
  if (containers === undefined || containers.length === 0) return undefined;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const running = [...containerStatuses, ...initContainerStatuses].filter(({ state }) => state?.running !== undefined);
  if (running.some(({ name }) => !containers.some((one) => one.name === name))) return undefined;
  return { kind: 'PodMetrics', apiVersion: 'metrics.k8s.io/v1beta1', ...measured(pod, stats), containers: containers.map((one) => ({ name: one.name, usage: quantities(one) })) };
}
