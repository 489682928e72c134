import { isPodReady } from '@roundsman/api';
import { byKey, keysOf, objectKey, onOwnChange, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withPodCondition } from './pod-conditions.ts';
import { readiness } from './taints.ts';

/** Pods on nodes that are not heard of any more are not ready: nobody knows how they are. Their agent says better when it is back. */
export function lostPods({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('node-controller');
  return {
    name: 'lost-pods',
    keys: keysOf(caches.nodes),
    wakes: [
      onOwnChange(caches.nodes),
      onChange(caches.pods, ({ type, object }) => {
        const node = type === 'DELETED' ? undefined : caches.nodes.get(undefined, object.spec.nodeName ?? '');
        return node !== undefined && isPodReady(object) && readiness(node) === 'Unknown' ? [objectKey(node)] : [];
      }),
    ],
    async reconcile(key) {
      const node = byKey(caches.nodes, key);
      if (node?.status?.conditions === undefined || readiness(node) !== 'Unknown') return;
      const { name } = node.metadata;
      for (const pod of caches.pods.by('node', name)) {
        if (!isPodReady(pod)) continue;
        const message = `Node ${name} which was running pod ${pod.metadata.name} is unresponsive`;
        await objects.updateStatus(caches.pods, pod, withPodCondition(pod, { type: 'Ready', status: 'False', reason: 'NodeLost', message }, Date.now()), { exact: true });
        tell(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
      }
    },
  };
}
