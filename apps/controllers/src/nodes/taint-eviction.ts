import { isPodEnded, tolerates, type Node, type Pod, type Taint } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withDisruption } from './pod-conditions.ts';
import { TaintTimes } from './taint-times.ts';

const expels = (node: Node | undefined): boolean => node?.spec.taints?.some(({ effect }) => effect === 'NoExecute') === true;

/** When a pod must leave because of these NoExecute taints; undefined: never. Each taint counts from when it was added. Milliseconds since the epoch. */
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
  const times = new TaintTimes();
  const nodeOf = ({ spec }: Pod): Node | undefined => caches.nodes.get(undefined, spec.nodeName ?? '');
  return {
    name: 'taint-eviction',
    concurrency: 8,
    keys: keysOf(caches.pods),
    wakes: [
      onChange(caches.nodes, ({ type, object, before }) => {
        if (type === 'DELETED') times.forget(object);
        else times.of(object, Date.now());
        return expels(object) || expels(before) ? caches.pods.by('node', object.metadata.name).map(objectKey) : [];
      }),
      onChange(caches.pods, ({ type, object, before }) => {
        const isNews = before === undefined || before.spec.nodeName !== object.spec.nodeName || before.spec.tolerations?.length !== object.spec.tolerations?.length;
        return type !== 'DELETED' && isNews && expels(nodeOf(object)) ? [objectKey(object)] : [];
      }),
    ],
    async reconcile(key) {
      const pod = byKey(caches.pods, key);
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodEnded(pod)) return undefined;
      const nowMs = Date.now();
      const atMs = leavesAtMs(pod, times.of(nodeOf(pod), nowMs));
      if (atMs === undefined) return undefined;
      if (atMs > nowMs) return { againAfterMs: atMs - nowMs };
      await objects.updateStatus(caches.pods, pod, withDisruption(pod, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint', nowMs), { exact: true });
      if (await objects.delete(caches.pods, pod)) tell(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`);
      return undefined;
    },
  };
}
