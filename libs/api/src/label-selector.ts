import type { Cause } from './kind.ts';
import type { LabelSelector } from './kinds/workload/selector.ts';
import { labelValueProblem, qualifiedNameProblem } from './names.ts';
import { forbiddenField, invalidValue, required } from './rules/causes.ts';
import { matchesLabels, requirementsOf, type LabelRequirement, type Labels } from './selectors.ts';

export const selectorOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Whether a selector chooses what has these labels: an empty one everything, an absent one nothing. */
export function selects(selector: LabelSelector | undefined, labels: Labels | undefined): boolean {
  if (selector === undefined) return false;
  return matchesLabels(requirementsOf(selector), labels);
}

/** The selector as clients write it in a query: `app=web,tier in (a,b)`; keys in order. */
export function labelSelectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return '';
  const textOf = ({ key, operator, values }: LabelRequirement): string => {
    if (operator === 'exists') return key;
    if (operator === 'absent') return `!${key}`;
    return `${key} ${operator} (${[...values].sort().join(',')})`;
  };
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  const others = requirementsOf({ matchExpressions: selector.matchExpressions ?? [] }).map((one) => ({ key: one.key, text: textOf(one) }));
  return [...equal, ...others].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ text }) => text).join(',');
}

/** What is wrong with a selector, in Kubernetes' words. */
export function labelSelectorCauses({ matchLabels, matchExpressions }: LabelSelector, field: string): Cause[] {
  const causes: Cause[] = [];
  const check = (value: string, problem: string | undefined, at: string): void => {
    if (problem !== undefined) causes.push(invalidValue(at, value, problem));
  };
  for (const [key, value] of Object.entries(matchLabels ?? {})) {
    check(key, qualifiedNameProblem(key), `${field}.matchLabels`);
    check(value, labelValueProblem(value), `${field}.matchLabels`);
  }
  for (const [index, { key, operator, values = [] }] of (matchExpressions ?? []).entries()) {
    const at = `${field}.matchExpressions[${index}]`;
    if (!selectorOperators.includes(operator)) causes.push(invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
    else if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) causes.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (values.length > 0) causes.push(forbiddenField(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    check(key, qualifiedNameProblem(key), `${at}.key`);
    for (const [at2, value] of values.entries()) check(value, labelValueProblem(value), `${at}.values[${at2}]`);
  }
  return causes;
}
