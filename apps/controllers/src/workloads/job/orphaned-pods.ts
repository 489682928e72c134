import { byKey, objectKey, onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { controllerOf } from '../../owner.ts';
import { finishedAs } from './job-end.ts';
import { isTracked } from './job-pods.ts';
import { isOurs } from './job-controller.ts';
import { letGo } from './let-go.ts';

/** Lets go of held pods that no job will count any more: their job is gone, or has ended. Otherwise nobody could ever delete them. */
export function orphanedJobPods(deps: Deps): LoopDefinition {
  const { caches } = deps;
  return {
    name: 'orphaned-job-pods',
    keys: () => caches.pods.list().filter(isTracked).map(objectKey),
    wakes: [
      onChange(caches.pods, ({ type, object }) => (type !== 'DELETED' && isTracked(object) ? [objectKey(object)] : [])),
      onChange(caches.jobs, ({ type, object }) => (type === 'DELETED' || finishedAs(object) !== undefined ? caches.pods.byOwner(object.metadata.uid).filter(isTracked).map(objectKey) : [])),
    ],
    async reconcile(key) {
      const pod = byKey(caches.pods, key);
      if (pod === undefined || !isTracked(pod)) return undefined;
      const owner = controllerOf(pod);
      const job = owner && caches.jobs.byUid(owner.uid);
      if (job !== undefined && (!isOurs(job) || finishedAs(job) === undefined)) return undefined;
      // The cache may be behind; a job that is there counts its pods itself.
      if (job === undefined && owner?.kind === 'Job' && (await caches.stored('jobs.batch', pod.metadata.namespace, owner.name))?.metadata.uid === owner.uid) return { againAfterMs: 1_000 };
      await letGo(deps, pod);
      return undefined;
    },
  };
}
