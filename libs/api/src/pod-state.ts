import type { Pod } from './kinds/pod/schema.ts';
import type { PodCondition } from './kinds/pod/status.ts';

/** The condition of this type; undefined when the pod has none. */
export const podConditionOf = (pod: Pick<Pod, 'status'>, type: string): PodCondition | undefined => pod.status?.conditions?.find((condition) => condition.type === type);

/** Its Ready condition is True. */
export const isPodReady = (pod: Pick<Pod, 'status'>): boolean => podConditionOf(pod, 'Ready')?.status === 'True';

/** It has been ready for `minReadySeconds`; `now` is milliseconds since the epoch. */
export function isPodAvailable(pod: Pick<Pod, 'status'>, minReadySeconds: number, now: number): boolean {
  const ready = podConditionOf(pod, 'Ready');
  if (ready?.status !== 'True') return false;
  if (minReadySeconds === 0) return true;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return !Number.isNaN(since) && since + minReadySeconds * 1000 <= now;
}

/** All its containers have ended for good. */
export const isPodEnded = (pod: Pick<Pod, 'status'>): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
/** Its deletion was asked for. */
export const isPodTerminating = (pod: Pick<Pod, 'metadata'>): boolean => pod.metadata.deletionTimestamp !== undefined;
/** It counts as one of those that are wanted: it has not ended and need not end. */
export const isPodActive = (pod: Pick<Pod, 'metadata' | 'status'>): boolean => !isPodEnded(pod) && !isPodTerminating(pod);
