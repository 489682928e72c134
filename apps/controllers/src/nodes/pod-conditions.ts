import { podConditionOf, type Pod, type PodCondition, type PodStatus } from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';

/** The status with this condition in place of the one of its type; its time moves when its status does. */
export function withPodCondition(pod: Pod, draft: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>, nowMs: number): PodStatus {
  const { status } = pod;
  const before = podConditionOf(pod, draft.type);
  const lastTransitionTime = before !== undefined && before.status === draft.status ? before.lastTransitionTime : wholeSeconds(nowMs);
  const condition = { ...draft, lastProbeTime: before?.lastProbeTime ?? null, lastTransitionTime };
  const conditions = status?.conditions ?? [];
  return { ...status, conditions: before === undefined ? [...conditions, condition] : conditions.map((one) => (one === before ? condition : one)) };
}

/** Tells in the status that the cluster, not the pod itself, brings its end. */
export const withDisruption = (pod: Pod, reason: string, message: string, nowMs: number): PodStatus => withPodCondition(pod, { type: 'DisruptionTarget', status: 'True', reason, message }, nowMs);
