import type { Pod, PodCondition } from '@roundsman/api';

/** Neither ended nor about to end: it counts as one of the replicas that are wanted. */
export const isActive = ({ metadata, status }: Pod): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && metadata.deletionTimestamp === undefined;

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined => status?.conditions?.find((condition) => condition.type === type);

export const isReady = (pod: Pod): boolean => podCondition(pod, 'Ready')?.status === 'True';

/** Since when it is ready; undefined when it is not. Milliseconds since the epoch. */
export function readySinceMs(pod: Pod): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  return Date.parse(ready.lastTransitionTime ?? pod.metadata.creationTimestamp);
}

/** Milliseconds until it has been ready for `minReadySeconds`: 0 when it has, undefined when it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number | undefined {
  const since = readySinceMs(pod);
  if (since === undefined) return undefined;
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - nowMs);
}

export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean => availableInMs(pod, minReadySeconds, nowMs) === 0;
