import { isPodActive, type Pod, type ReplicaSet } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { controllerOf, isControlledBy } from '../../owner.ts';
import { claimed, ownersConcerned } from '../adoption.ts';
import { inDeletionOrder } from '../deletion-order.ts';
import { availableInMs } from '../pod-state.ts';
import { isNamespaceEnding, podFrom, Pods } from '../pods.ts';
import { slowStart } from '../slow-start.ts';
import { replicaSetStatusOf } from './replicaset-status.ts';

/** Pods made or ended in one look. */
const burst = 500;

/** Keeps as many pods of a template as are wanted. */
export function replicaSets(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const pods = new Pods(deps, recorder.from('replicaset-controller'));

  /** Pods of this and of the sets beside it (of the same Deployment) on the pod's node: the fuller nodes give first. */
  function crowdingOf(replicaSet: ReplicaSet): (pod: Pod) => number {
    const manager = controllerOf(replicaSet)?.uid;
    const sets = manager === undefined ? [replicaSet] : caches.replicaSets.byOwner(manager);
    const perNode = new Map<string, number>();
    for (const { metadata } of sets) {
      for (const pod of caches.pods.byOwner(metadata.uid)) {
        if (isPodActive(pod)) perNode.set(pod.spec.nodeName ?? '', (perNode.get(pod.spec.nodeName ?? '') ?? 0) + 1);
      }
    }
    return (pod) => perNode.get(pod.spec.nodeName ?? '') ?? 0;
  }

  /** Answers what went wrong; refusals are told in events. */
  async function manage(replicaSet: ReplicaSet, active: readonly Pod[]): Promise<Error | undefined> {
    const surplus = active.length - replicaSet.spec.replicas;
    if (surplus < 0) {
      const { error } = await slowStart(Math.min(-surplus, burst), () => pods.create(replicaSet, podFrom(replicaSet, replicaSet.spec.template)));
      return isNamespaceEnding(error) ? undefined : (error as Error | undefined);
    }
    if (surplus === 0) return undefined;
    const going = inDeletionOrder(active, Date.now(), crowdingOf(replicaSet)).slice(0, Math.min(surplus, burst));
    const outcomes = await Promise.allSettled(going.map((pod) => pods.delete(replicaSet, pod)));
    return outcomes.find((outcome) => outcome.status === 'rejected')?.reason as Error | undefined;
  }

  return {
    name: 'replicasets',
    concurrency: 8,
    resyncMs: 15_000,
    keys: keysOf(caches.replicaSets),
    wakes: [onOwnChange(caches.replicaSets), onChange(caches.pods, ({ object, before }) => ownersConcerned(caches.replicaSets, object, before).map(objectKey))],
    async reconcile(key) {
      const replicaSet = byKey(caches.replicaSets, key);
      if (replicaSet === undefined) return undefined;
      const claim = { owner: replicaSet, owners: caches.replicaSets, selector: replicaSet.spec.selector, cache: caches.pods, considered: isPodActive };
      let active = await claimed(deps, claim);
      const problem = replicaSet.metadata.deletionTimestamp === undefined ? await manage(replicaSet, active) : undefined;
      // The answers to what was just written are in the cache.
      active = caches.pods.byOwner(replicaSet.metadata.uid).filter((pod) => isPodActive(pod) && isControlledBy(pod, replicaSet));
      const nowMs = Date.now();
      await objects.updateStatus(caches.replicaSets, replicaSet, replicaSetStatusOf(replicaSet, active, problem, nowMs));
      if (problem !== undefined) throw problem;
      const waits = active.flatMap((pod) => availableInMs(pod, replicaSet.spec.minReadySeconds ?? 0, nowMs) ?? []).filter((ms) => ms > 0);
      return waits.length === 0 ? undefined : { againAfterMs: Math.min(...waits) };
    },
  };
}
