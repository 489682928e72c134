import type { PodDisruptionBudget } from '@roundsman/api';
import type { PodInfo } from '../cluster/pod-info.ts';
import { selectorCondition } from '../rules/label-selector.ts';

/** Splits pods, in their order, by whether removing them all would go beyond a disruption budget. */
export function splitByBudget(pods: readonly PodInfo[], budgets: readonly PodDisruptionBudget[]): { beyond: PodInfo[]; within: PodInfo[] } {
  const open = budgets.flatMap((budget) => {
    const { selector } = budget.spec;
    const all = Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0;
    return all ? [] : [{ namespace: budget.metadata.namespace, isAbout: selectorCondition(selector), allowed: budget.status?.disruptionsAllowed ?? 0, disrupted: budget.status?.disruptedPods ?? {} }];
  });
  const split: { beyond: PodInfo[]; within: PodInfo[] } = { beyond: [], within: [] };
  for (const pod of pods) {
    let violated = false;
    for (const budget of open) {
      if (budget.namespace !== pod.namespace || Object.keys(pod.labels).length === 0 || !budget.isAbout(pod.labels)) continue;
      // Its end is counted already.
      if (Object.hasOwn(budget.disrupted, pod.name)) continue;
      budget.allowed -= 1;
      if (budget.allowed < 0) violated = true;
    }
    split[violated ? 'beyond' : 'within'].push(pod);
  }
  return split;
}
