import type { PodDisruptionBudget } from '../kinds/poddisruptionbudget/schema.ts';
import { labelSelectorCauses } from '../label-selector.ts';
import type { KubeObject } from '../meta.ts';
import { invalidValue, type Findings } from './causes.ts';
import { atMostAll, countCauses } from './int-or-percent.ts';

/** Rules of disruption budgets. */
export function disruptionBudgetRules(object: KubeObject): Findings {
  const { spec } = object as PodDisruptionBudget;
  const { selector, minAvailable, maxUnavailable } = spec;
  const causes = minAvailable !== undefined && maxUnavailable !== undefined ? [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')] : [];
  for (const [member, value] of Object.entries({ minAvailable, maxUnavailable })) if (value !== undefined) causes.push(...countCauses(`spec.${member}`, value), ...atMostAll(`spec.${member}`, value));
  if (selector !== undefined) causes.push(...labelSelectorCauses(selector, 'spec.selector'));
  return { causes, warnings: [] };
}
