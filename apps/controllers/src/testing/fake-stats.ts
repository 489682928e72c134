import type { Pod } from '@roundsman/api';
import { endpoint, messages, type Bus, type Subscription } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';

/** What each container of a pod uses. */
export interface Use {
  readonly cpuMillis: number;
  readonly memoryBytes?: number;
}

/** The double of an agent that tells what the pods of its node use; undefined: nothing was measured of the pod. */
export function answerStats(bus: Bus, node: string, pods: Informer<Pod>, useOf: (pod: Pod) => Use | undefined): Promise<Subscription> {
  return bus.serve({ name: 'agent', version: '1.0.0', description: 'What a node and its pods use' }, [
    endpoint(
      messages.nodeStats,
      () => ({
        at: new Date().toISOString(),
        windowSeconds: 0.001,
        node: { cpuNanoCores: 0, memoryBytes: 0 },
        pods: pods.list().flatMap((pod) => {
          const use = pod.spec.nodeName === node ? useOf(pod) : undefined;
          if (use === undefined) return [];
          const { name, namespace = '', uid } = pod.metadata;
          return [{ namespace, name, uid, containers: pod.spec.containers.map((container) => ({ name: container.name, cpuNanoCores: use.cpuMillis * 1e6, memoryBytes: use.memoryBytes ?? 0 })) }];
        }),
      }),
      { node },
    ),
  ]);
}
