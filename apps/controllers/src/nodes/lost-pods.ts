import { isPodReady, type Node, type Pod } from '@roundsman/api';
import type { Outcome } from '@roundsman/reconcile';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withPodCondition } from './pod-conditions.ts';
import { readiness } from './taints.ts';

/** A pod that becomes ready on a lost node was told of by its agent: most likely its heartbeat follows within this time. */
const heardSoonMs = 1_000;

/** Pods on nodes that are not heard of any more are not ready: nobody knows how they are. Their agent says better when it is back. */
export function lostPods({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('node-controller');
  /** By key of the node: which loss of which node its pods were told of, and since when (ms) pods of it are ready all the same, by uid. */
  const losses = new Map<string, { readonly loss: string; readonly returned: ReadonlyMap<string, number> }>();

  async function lose(node: Node, pod: Pod): Promise<void> {
    const message = `Node ${node.metadata.name} which was running pod ${pod.metadata.name} is unresponsive`;
    await objects.updateStatus(caches.pods, pod, withPodCondition(pod, { type: 'Ready', status: 'False', reason: 'NodeLost', message }, Date.now()), { exact: true });
    tell(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
  }

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
    async reconcile(key): Promise<Outcome | void> {
      const node = byKey(caches.nodes, key);
      if (node?.status?.conditions === undefined || readiness(node) !== 'Unknown') {
        losses.delete(key);
        return undefined;
      }
      const loss = `${node.metadata.uid} ${node.status.conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime}`;
      const known = losses.get(key);
      const nowMs = Date.now();
      const returned = new Map<string, number>();
      for (const pod of caches.pods.by('node', node.metadata.name).filter(isPodReady)) {
        const { uid } = pod.metadata;
        const sinceMs = known?.returned.get(uid) ?? nowMs;
        if (known?.loss !== loss || nowMs - sinceMs >= heardSoonMs) await lose(node, pod);
        else returned.set(uid, sinceMs);
      }
      losses.set(key, { loss, returned });
      return returned.size === 0 ? undefined : { againAfterMs: heardSoonMs };
    },
  };
}
