import { isPodEnded, type Node, type Pod, type Taint, type Toleration } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withDisruption } from './pod-conditions.ts';

const expelling = (node: Node | undefined): readonly Taint[] => node?.spec.taints?.filter(({ effect }) => effect === 'NoExecute') ?? [];

function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || ((operator === '' || operator === 'Equal') && key !== '' && value === (taint.value ?? ''));
}

/** When a pod must leave because of these taints; undefined: never. Each taint counts from when it was added. Milliseconds since the epoch. */
export function leavesAtMs({ spec }: Pod, taints: readonly Taint[]): number | undefined {
  const times = taints.flatMap((taint) => {
    const toleration = spec.tolerations?.find((one) => tolerates(one, taint));
    if (toleration === undefined) return [0];
    const { tolerationSeconds } = toleration;
    return tolerationSeconds === undefined ? [] : [(Date.parse(taint.timeAdded ?? '') || 0) + Math.max(0, tolerationSeconds) * 1_000];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Deletes the pods that do not tolerate a NoExecute taint of their node, or not any longer. */
export function taintEviction({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('taint-eviction-controller');
  const nodeOf = ({ spec }: Pod): Node | undefined => caches.nodes.get(undefined, spec.nodeName ?? '');
  return {
    name: 'taint-eviction',
    concurrency: 8,
    keys: keysOf(caches.pods),
    wakes: [
      onChange(caches.nodes, ({ object, before }) => (expelling(object).length + expelling(before).length === 0 ? [] : caches.pods.by('node', object.metadata.name).map(objectKey))),
      onChange(caches.pods, ({ type, object, before }) => (type !== 'DELETED' && before?.spec.nodeName !== object.spec.nodeName && expelling(nodeOf(object)).length > 0 ? [objectKey(object)] : [])),
    ],
    async reconcile(key) {
      const pod = byKey(caches.pods, key);
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodEnded(pod)) return undefined;
      const atMs = leavesAtMs(pod, expelling(nodeOf(pod)));
      if (atMs === undefined) return undefined;
      const nowMs = Date.now();
      if (atMs > nowMs) return { againAfterMs: atMs - nowMs };
      tell(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`);
      await objects.updateStatus(caches.pods, pod, withDisruption(pod, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint', nowMs), { exact: true });
      await objects.delete(caches.pods, pod);
      return undefined;
    },
  };
}
