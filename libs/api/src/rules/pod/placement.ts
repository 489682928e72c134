import type { Cause } from '../../kind.ts';
import type { Affinity, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm } from '../../kinds/pod/affinity.ts';
import type { Toleration, TopologySpreadConstraint } from '../../kinds/pod/placement.ts';
import { labelSelectorCauses } from '../../label-selector.ts';
import { labelProblem, labelValueProblem, qualifiedNameProblem, subdomainProblem } from '../../names.ts';
import { duplicate, forbiddenField, invalidValue, named, required } from '../causes.ts';

export const labelCauses = (labels: Readonly<Record<string, string>>, field: string): Cause[] =>
  Object.entries(labels).flatMap(([key, value]) => [...named(field, key, qualifiedNameProblem(key)), ...named(field, value, labelValueProblem(value))]);

export const tolerationCauses = (tolerations: readonly Toleration[], field: string): Cause[] =>
  tolerations.flatMap(({ key = '', operator = '', value = '', effect = '', tolerationSeconds }, index) => {
    const at = `${field}[${index}]`;
    const causes = key === '' ? [] : named(`${at}.key`, key, qualifiedNameProblem(key));
    if (key === '' && operator !== 'Exists') causes.push(invalidValue(`${at}.operator`, operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"'));
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') causes.push(invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (operator === 'Exists' && value !== '') causes.push(invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    if (operator !== 'Exists') causes.push(...named(`${at}.operator`, value, labelValueProblem(value)));
    return causes;
  });

export function affinityCauses({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, field: string): Cause[] {
  const causes: Cause[] = [];
  const needed = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (needed !== undefined) {
    const at = `${field}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    if (needed.nodeSelectorTerms.length === 0) causes.push(required(at, 'must have at least one node selector term'));
    for (const [index, term] of needed.nodeSelectorTerms.entries()) causes.push(...termCauses(term, `${at}[${index}]`));
  }
  for (const [index, { weight, preference }] of preferred.entries()) {
    const at = `${field}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    causes.push(...weightCauses(weight, at), ...termCauses(preference, `${at}.preference`));
  }
  for (const [member, affinity] of Object.entries({ podAffinity, podAntiAffinity })) {
    for (const [index, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      causes.push(...podTermCauses(term, `${field}.${member}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`));
    }
    for (const [index, { weight, podAffinityTerm }] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const at = `${field}.${member}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      causes.push(...weightCauses(weight, at), ...podTermCauses(podAffinityTerm, `${at}.podAffinityTerm`));
    }
  }
  return causes;
}

const weightCauses = (weight: number, at: string): Cause[] => (weight < 1 || weight > 100 ? [invalidValue(`${at}.weight`, weight, 'must be in the range 1-100')] : []);

export const termCauses = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, field: string): Cause[] => [
  ...matchExpressions.flatMap((one, index) => requirementCauses(one, `${field}.matchExpressions[${index}]`)),
  ...matchFields.flatMap((one, index) => fieldRequirementCauses(one, `${field}.matchFields[${index}]`)),
];

function requirementCauses({ key, operator, values = [] }: NodeSelectorRequirement, field: string): Cause[] {
  const causes: Cause[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) causes.push(required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) causes.push(forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) causes.push(required(`${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else causes.push(invalidValue(`${field}.operator`, operator, 'not a valid selector operator'));
  return [...causes, ...named(`${field}.key`, key, qualifiedNameProblem(key))];
}

function fieldRequirementCauses({ key, operator, values = [] }: NodeSelectorRequirement, field: string): Cause[] {
  const causes: Cause[] = [];
  if (operator !== 'In' && operator !== 'NotIn') causes.push(invalidValue(`${field}.operator`, operator, 'not a valid selector operator'));
  else if (values.length !== 1) causes.push(required(`${field}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  if (key !== 'metadata.name') return [...causes, invalidValue(`${field}.key`, key, 'not a valid field selector key')];
  return [...causes, ...values.flatMap((value, index) => named(`${field}.values[${index}]`, value, subdomainProblem(value)))];
}

function podTermCauses({ labelSelector, namespaceSelector, namespaces = [], topologyKey }: PodAffinityTerm, field: string): Cause[] {
  const causes: Cause[] = [];
  if (labelSelector !== undefined) causes.push(...labelSelectorCauses(labelSelector, `${field}.labelSelector`));
  if (namespaceSelector !== undefined) causes.push(...labelSelectorCauses(namespaceSelector, `${field}.namespaceSelector`));
  causes.push(...namespaces.flatMap((name) => named(`${field}.namespace`, name, labelProblem(name))));
  if (topologyKey === '') causes.push(required(`${field}.topologyKey`, 'can not be empty'));
  return [...causes, ...named(`${field}.topologyKey`, topologyKey, qualifiedNameProblem(topologyKey))];
}

export const spreadCauses = (constraints: readonly TopologySpreadConstraint[], field: string): Cause[] =>
  constraints.flatMap(({ maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector }, index) => {
    const at = `${field}[${index}]`;
    const causes: Cause[] = [];
    if (maxSkew <= 0) causes.push(invalidValue(`${at}.maxSkew`, maxSkew, 'must be greater than zero'));
    if (topologyKey === '') causes.push(required(`${at}.topologyKey`, 'can not be empty'));
    const again = constraints.slice(index + 1).some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (again) causes.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`));
    if (minDomains !== undefined && minDomains <= 0) causes.push(invalidValue(`${at}.minDomains`, minDomains, 'must be greater than zero'));
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') causes.push(invalidValue(`${at}.minDomains`, minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`));
    return labelSelector === undefined ? causes : [...causes, ...labelSelectorCauses(labelSelector, `${at}.labelSelector`)];
  });
