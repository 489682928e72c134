import type { ScalingPolicy, ScalingRules } from '@roundsman/api';
import { changeWithin, type History } from './history.ts';

/** The most pods there may be now by the policies; the present number where there may be no more. */
export const highestAllowed = (current: number, rules: ScalingRules, history: History, nowMs: number): number =>
  limited(current, rules, history, nowMs, (start, { type, value }) => (type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100))), Math.max, Math.min);

/** The fewest pods there may be now by the policies; the present number where there may be no fewer. */
export const lowestAllowed = (current: number, rules: ScalingRules, history: History, nowMs: number): number =>
  limited(current, rules, history, nowMs, (start, { type, value }) => (type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100))), Math.min, Math.max);

/** Each policy counts from the number of pods at the begin of its period. `most` picks the policy that changes most, `least` the one that changes least. */
function limited(
  current: number,
  { selectPolicy, policies = [] }: ScalingRules,
  { ups, downs }: History,
  nowMs: number,
  proposal: (atStart: number, policy: ScalingPolicy) => number,
  most: (...proposals: number[]) => number,
  least: (...proposals: number[]) => number,
): number {
  if (selectPolicy === 'Disabled') return current;
  const proposals = policies.map((policy) => {
    const periodMs = policy.periodSeconds * 1000;
    return proposal(current - changeWithin(ups, periodMs, nowMs) + changeWithin(downs, periodMs, nowMs), policy);
  });
  return (selectPolicy === 'Min' ? least : most)(...proposals);
}
