import { kindByResource, numberAt, selects, type KubeObject, type Pod, type PodDisruptionBudget } from '@roundsman/api';
import type { Informer } from '@roundsman/reconcile';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition, type Wake } from '../loop.ts';
import { controllerOf } from '../owner.ts';
import { budgetStatusOf, endsWithinMs, needs, outstanding } from './budget.ts';

/** A pod whose controller has no number of replicas. */
class Unscalable extends Error {
  override readonly name = 'Unscalable';
}

/** Counts how many pods of a budget may be evicted; intake counts down as it grants evictions. */
export function disruptionBudgets({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('controllermanager');
  const budgets = caches.disruptionBudgets;
  const inNamespace = ({ metadata }: KubeObject): PodDisruptionBudget[] => budgets.by('namespace', metadata.namespace ?? '');

  /** The one that says how many pods there are to be: the topmost of the managers that can be scaled. */
  function scaledBy(object: KubeObject): KubeObject | undefined {
    const uid = controllerOf(object)?.uid;
    if (uid === undefined) return undefined;
    for (const [resource, cache] of caches.all) {
      const manager = kindByResource.get(resource)?.scale === undefined ? undefined : cache.byUid(uid);
      if (manager !== undefined) return scaledBy(manager) ?? manager;
    }
    return undefined;
  }

  /** Pods without a controller are counted by nobody: the second part. */
  function scaleOf(pods: readonly Pod[]): { scale: number; unmanaged: Pod[] } {
    const managers = new Map<string, number>();
    const unmanaged: Pod[] = [];
    for (const pod of pods) {
      const controller = controllerOf(pod);
      const manager = scaledBy(pod);
      if (controller === undefined) unmanaged.push(pod);
      else if (manager === undefined) throw new Unscalable(`${controller.kind.toLowerCase()}s.${controller.apiVersion.split('/')[0]} does not implement the scale subresource`);
      else managers.set(manager.metadata.uid, numberAt(manager, 'spec', 'replicas') ?? 0);
    }
    return { scale: [...managers.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
  }

  function numbersOf(budget: PodDisruptionBudget, pods: readonly Pod[]): { expected: number; desired: number; problem?: string } {
    try {
      return needs(budget, pods.length, () => {
        const { scale, unmanaged } = scaleOf(pods);
        if (unmanaged.length > 0) tell(budget, 'Warning', 'UnmanagedPods', `Pods selected by this PodDisruptionBudget were found to be unmanaged (${unmanaged.map(({ metadata }) => metadata.name).slice(0, 10).join(', ')}). They do not count as expected. To account for them set ".spec.minAvailable" to an integer`);
        return scale;
      });
    } catch (error) {
      if (!(error instanceof Unscalable)) throw error;
      tell(budget, 'Warning', 'CalculateExpectedPodCountFailed', `Failed to calculate the number of expected pods: ${error.message}`);
      return { expected: budget.status?.expectedPods ?? 0, desired: budget.status?.desiredHealthy ?? 0, problem: error.message };
    }
  }

  const onScale = <T extends KubeObject<{ replicas?: number | undefined }>>(informer: Informer<T>): Wake =>
    onChange(informer, ({ object, before }) => (object.spec.replicas === before?.spec.replicas ? [] : inNamespace(object).map(objectKey)));

  return {
    name: 'disruption-budgets',
    resyncMs: 30_000,
    keys: keysOf(budgets),
    wakes: [
      onOwnChange(budgets),
      onChange(caches.pods, ({ object, before }) => inNamespace(object).filter(({ spec }) => selects(spec.selector, object.metadata.labels) || selects(spec.selector, before?.metadata.labels)).map(objectKey)),
      onScale(caches.deployments),
      onScale(caches.replicaSets),
      onScale(caches.statefulSets),
    ],
    async reconcile(key) {
      const budget = byKey(budgets, key);
      if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return undefined;
      const pods = caches.pods.by('namespace', budget.metadata.namespace ?? '').filter(({ metadata }) => selects(budget.spec.selector, metadata.labels));
      if (pods.length === 0 && budget.status === undefined) tell(budget, 'Normal', 'NoPods', 'No matching pods found');
      const nowMs = Date.now();
      const { waiting, overdue } = outstanding(budget.status?.disruptedPods ?? {}, pods, nowMs);
      for (const pod of overdue) tell(pod, 'Warning', 'NotDeleted', `Pod was expected by PDB ${budget.metadata.namespace}/${budget.metadata.name} to be deleted but it wasn't`);
      // An eviction may be granted this very moment: what it wrote must not be lost.
      await objects.updateStatus(budgets, budget, budgetStatusOf(budget, pods, numbersOf(budget, pods), waiting, nowMs), { exact: true });
      const dueMs = Object.values(waiting).map((at) => Date.parse(at) + endsWithinMs - nowMs);
      return dueMs.length === 0 ? undefined : { againAfterMs: Math.max(1, Math.min(...dueMs)) };
    },
  };
}
