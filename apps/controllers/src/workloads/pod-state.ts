import { isPodReady, podConditionOf, type Pod } from '@roundsman/api';

/** Since when it is ready; undefined when it is not. Milliseconds since the epoch. */
export function readySinceMs(pod: Pod): number | undefined {
  return isPodReady(pod) ? Date.parse(podConditionOf(pod, 'Ready')?.lastTransitionTime ?? pod.metadata.creationTimestamp) : undefined;
}

/** Milliseconds until it has been ready for `minReadySeconds`: 0 when it has, undefined when it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number | undefined {
  const since = readySinceMs(pod);
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - nowMs);
}
