import { isPodAvailable, isPodReady, type Pod, type ReplicaSet, type ReplicaSetStatus } from '@roundsman/api';
import { wholeSeconds } from '../../timestamps.ts';

/**
 * The status of a replica set from the active pods it has now. `problem`: why the last attempt to make or end pods failed; the first one
 * is told until an attempt succeeds.
 */
export function replicaSetStatusOf(replicaSet: ReplicaSet, pods: readonly Pod[], problem: Error | undefined, nowMs: number): ReplicaSetStatus {
  const { spec, status, metadata } = replicaSet;
  const wanted = Object.entries(spec.template.metadata?.labels ?? {});
  const ready = pods.filter(isPodReady);
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure') ?? failureOf(pods.length - spec.replicas, problem, nowMs);
  const conditions = [...(status?.conditions ?? []).filter(({ type }) => type !== 'ReplicaFailure'), ...(problem === undefined || failure === undefined ? [] : [failure])];
  return {
    replicas: pods.length,
    fullyLabeledReplicas: pods.filter((pod) => wanted.every(([key, value]) => pod.metadata.labels?.[key] === value)).length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, spec.minReadySeconds ?? 0, nowMs)).length,
    observedGeneration: metadata.generation,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

type ReplicaSetCondition = NonNullable<ReplicaSetStatus['conditions']>[number];

function failureOf(surplus: number, problem: Error | undefined, nowMs: number): ReplicaSetCondition | undefined {
  if (problem === undefined) return undefined;
  return { type: 'ReplicaFailure', status: 'True', reason: surplus < 0 ? 'FailedCreate' : 'FailedDelete', message: problem.message, lastTransitionTime: wholeSeconds(nowMs) };
}
