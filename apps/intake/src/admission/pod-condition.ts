import type { KubeObject } from '@roundsman/api';
import { timestamp } from './outcome.ts';

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

/** A pod's status with one condition set; its time moves only when its status does. */
export function withCondition(pod: KubeObject, condition: PodCondition, now: number): Record<string, unknown> {
  const status = (pod.status ?? {}) as Record<string, unknown>;
  const conditions = (status['conditions'] ?? []) as PodCondition[];
  const before = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timestamp(now);
  const next = { lastProbeTime: null, ...condition, lastTransitionTime };
  return { ...status, conditions: before === undefined ? [...conditions, next] : conditions.map((one) => (one === before ? next : one)) };
}
