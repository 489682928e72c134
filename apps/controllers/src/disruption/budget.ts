import { isPodReady, resolveIntOrString, type Pod, type PodDisruptionBudget, type PodDisruptionBudgetStatus } from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';

/** An evicted pod is to begin to end within so long; then it counts again. */
export const endsWithinMs = 120_000;

/** How many pods there should be and how many of them must be healthy. `scale`: the pods that their controllers want, all together. */
export function needs({ spec }: PodDisruptionBudget, pods: number, scale: () => number): { readonly expected: number; readonly desired: number } {
  const { maxUnavailable, minAvailable } = spec;
  if (maxUnavailable !== undefined) {
    const expected = scale();
    return { expected, desired: Math.max(0, expected - resolveIntOrString(maxUnavailable, expected, true)) };
  }
  if (typeof minAvailable === 'number') return { expected: pods, desired: minAvailable };
  if (minAvailable === undefined) return { expected: 0, desired: 0 };
  const expected = scale();
  return { expected, desired: resolveIntOrString(minAvailable, expected, true) };
}

/** Evictions that were granted and have not begun, and those that should have. */
export function outstanding(disrupted: Readonly<Record<string, string>>, pods: readonly Pod[], nowMs: number): { waiting: Record<string, string>; overdue: Pod[] } {
  const waiting: Record<string, string> = {};
  const overdue: Pod[] = [];
  for (const pod of pods) {
    const at = disrupted[pod.metadata.name];
    if (at === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    if (Date.parse(at) + endsWithinMs > nowMs) waiting[pod.metadata.name] = at;
    else overdue.push(pod);
  }
  return { waiting, overdue };
}

/** The whole status. `problem`: why the numbers cannot be told; nothing may be disrupted then. */
export function budgetStatusOf(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  { expected, desired, problem }: { readonly expected: number; readonly desired: number; readonly problem?: string },
  waiting: Readonly<Record<string, string>>,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const healthy = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && waiting[pod.metadata.name] === undefined && isPodReady(pod)).length;
  const allowed = problem !== undefined || expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const reason = problem === undefined ? (allowed > 0 ? 'SufficientPods' : 'InsufficientPods') : 'SyncFailed';
  return {
    observedGeneration: budget.metadata.generation,
    ...(Object.keys(waiting).length === 0 ? {} : { disruptedPods: waiting }),
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: conditionsOf(budget, allowed > 0 ? 'True' : 'False', reason, problem ?? '', nowMs),
  };
}

type Conditions = NonNullable<PodDisruptionBudgetStatus['conditions']>;

function conditionsOf({ status, metadata }: PodDisruptionBudget, state: 'True' | 'False', reason: string, message: string, nowMs: number): Conditions {
  const type = 'DisruptionAllowed';
  const before = status?.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = before?.status === state ? before.lastTransitionTime : wholeSeconds(nowMs);
  const others = (status?.conditions ?? []).filter((condition) => condition !== before);
  return [...others, { type, status: state, reason, message, lastTransitionTime, observedGeneration: metadata.generation }];
}
