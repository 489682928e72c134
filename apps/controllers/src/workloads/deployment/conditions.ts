import type { DeploymentCondition } from '@roundsman/api';
import { wholeSeconds } from '../../timestamps.ts';

export type Conditions = readonly DeploymentCondition[];
export type ConditionDraft = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

export const conditionOf = (conditions: Conditions, type: string): DeploymentCondition | undefined => conditions.find((condition) => condition.type === type);
export const without = (conditions: Conditions, type: string): Conditions => conditions.filter((condition) => condition.type !== type);

/**
 * The conditions with this one in place of the one of its type. The same status for the same reason is no news; `again` tells it all the same, with
 * its present time: something moved on.
 */
export function withCondition(conditions: Conditions, draft: ConditionDraft, nowMs: number, again = false): Conditions {
  const before = conditionOf(conditions, draft.type);
  if (!again && before !== undefined && before.status === draft.status && before.reason === draft.reason) return conditions;
  const now = wholeSeconds(nowMs);
  const lastTransitionTime = before !== undefined && before.status === draft.status ? before.lastTransitionTime : now;
  return [...without(conditions, draft.type), { type: draft.type, status: draft.status, lastUpdateTime: now, lastTransitionTime, reason: draft.reason, message: draft.message }];
}
