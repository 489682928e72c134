import type { Pod } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Deps } from '../../loop.ts';
import { isTracked, trackingFinalizer } from './job-pods.ts';

/** Takes the tracking finalizer off. Throws when the pod has changed meanwhile: the next look sees how. */
export async function letGo({ caches, objects }: Pick<Deps, 'caches' | 'objects'>, pod: Pod): Promise<void> {
  if (!isTracked(pod)) return;
  const finalizers = (pod.metadata.finalizers ?? []).filter((finalizer) => finalizer !== trackingFinalizer);
  try {
    await objects.update(caches.pods, { ...pod, metadata: { ...pod.metadata, finalizers } });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 404)) throw error;
  }
}
