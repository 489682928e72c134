import type { Cause } from '../kind.ts';
import type { MetricIdentifier, MetricSpec, MetricTarget, ObjectReference } from '../kinds/horizontalpodautoscaler/metric.ts';
import type { HorizontalPodAutoscaler, ScalingRules } from '../kinds/horizontalpodautoscaler/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem } from '../names.ts';
import { parseQuantity } from '../quantity.ts';
import { forbiddenField, invalidValue, notSupported, required, Verbatim, type Findings } from './causes.ts';
import { containerResourceCauses } from './pod/resources.ts';

const longestPeriodSeconds = 1800;
const longestWindowSeconds = 3600;

/** Rules of autoscalers, in the order in which Kubernetes looks. */
export function autoscalerRules(object: KubeObject): Findings {
  const { minReplicas, maxReplicas, scaleTargetRef, metrics = [], behavior } = (object as HorizontalPodAutoscaler).spec;
  const causes: Cause[] = [];
  if (minReplicas < 1) causes.push(invalidValue('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'));
  if (maxReplicas < 1) causes.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than 0'));
  if (maxReplicas < minReplicas) causes.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'));
  causes.push(...referenceCauses(scaleTargetRef, 'spec.scaleTargetRef'));
  metrics.forEach((metric, index) => causes.push(...metricCauses(metric, `spec.metrics[${index}]`)));
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    causes.push(forbiddenField('spec.metrics', 'must specify at least one Object or External metric to support scaling to zero replicas'));
  }
  for (const direction of ['scaleUp', 'scaleDown'] as const) if (behavior?.[direction] !== undefined) causes.push(...scalingCauses(behavior[direction], `spec.behavior.${direction}`));
  return { causes, warnings: [] };
}

function referenceCauses({ kind, name }: ObjectReference, field: string): Cause[] {
  return Object.entries({ kind, name }).flatMap(([member, value]) => (value === '' ? [required(`${field}.${member}`, '')] : segmentCauses(value, `${field}.${member}`)));
}

/** What cannot stand in a path. */
function segmentCauses(value: string, field: string): Cause[] {
  if (value === '.' || value === '..') return [invalidValue(field, value, `may not be '${value}'`)];
  return ['/', '%'].filter((illegal) => value.includes(illegal)).map((illegal) => invalidValue(field, value, `may not contain '${illegal}'`));
}

function scalingCauses({ stabilizationWindowSeconds: seconds, selectPolicy, policies = [] }: ScalingRules, field: string): Cause[] {
  const causes: Cause[] = [];
  const window = `${field}.stabilizationWindowSeconds`;
  if (seconds !== undefined && seconds < 0) causes.push(invalidValue(window, seconds, 'must be greater than or equal to zero'));
  if (seconds !== undefined && seconds > longestWindowSeconds) causes.push(invalidValue(window, seconds, `must be less than or equal to ${longestWindowSeconds}`));
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy)) causes.push(notSupported(`${field}.selectPolicy`, selectPolicy, ['Disabled', 'Max', 'Min']));
  if (policies.length === 0) causes.push(required(`${field}.policies`, 'must specify at least one Policy'));
  policies.forEach(({ type, value, periodSeconds }, index) => {
    const at = `${field}.policies[${index}]`;
    if (type !== 'Pods' && type !== 'Percent') causes.push(notSupported(`${at}.type`, type, ['Percent', 'Pods']));
    if (value <= 0) causes.push(invalidValue(`${at}.value`, value, 'must be greater than zero'));
    if (periodSeconds <= 0) causes.push(invalidValue(`${at}.periodSeconds`, periodSeconds, 'must be greater than zero'));
    if (periodSeconds > longestPeriodSeconds) causes.push(invalidValue(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${longestPeriodSeconds}`));
  });
  return causes;
}

/** In the order in which they are looked at: of several that are given the first is judged, the others are too many. */
const sources = { object: 'Object', external: 'External', pods: 'Pods', resource: 'Resource', containerResource: 'ContainerResource' } as const;
type Member = keyof typeof sources;
const members = Object.keys(sources) as Member[];

function metricCauses(metric: MetricSpec, field: string): Cause[] {
  const { type } = metric;
  const causes: Cause[] = [];
  const wanted = members.find((member) => sources[member] === type);
  if (type === '') causes.push(required(`${field}.type`, 'must specify a metric source type'));
  if (wanted === undefined) causes.push(notSupported(`${field}.type`, type, Object.values(sources).sort()));
  const given = members.filter((member) => metric[member] !== undefined);
  if (given[0] !== undefined) causes.push(...sourceCauses(given[0], metric, `${field}.${given[0]}`));
  if (wanted !== undefined && !given.includes(wanted)) causes.push(required(`${field}.${wanted}`, 'must populate information for the given metric source'));
  if (given.length !== 1) causes.push(...given.filter((member) => member !== wanted).map((member) => forbiddenField(`${field}.${member}`, 'must populate the given metric source only')));
  return causes;
}

function sourceCauses(member: Member, metric: MetricSpec, field: string): Cause[] {
  if (member === 'object') {
    const { describedObject, metric: which, target } = metric.object!;
    return [...referenceCauses(describedObject, `${field}.describedObject`), ...identifierCauses(which, field), ...targetCauses(target, field), ...eitherValue(target, field, 'must set either a target value or averageValue')];
  }
  if (member === 'external') {
    const { metric: which, target } = metric.external!;
    const both = target.value !== undefined && target.averageValue !== undefined ? [forbiddenField(`${field}.target.value`, 'may not set both a target value for metric and a per-pod target')] : [];
    return [...identifierCauses(which, field), ...targetCauses(target, field), ...eitherValue(target, field, 'must set either a target value for metric or a per-pod target'), ...both];
  }
  if (member === 'pods') {
    const { metric: which, target } = metric.pods!;
    return [...identifierCauses(which, field), ...targetCauses(target, field), ...(target.averageValue === undefined ? [required(`${field}.target.averageValue`, 'must specify a positive target averageValue')] : [])];
  }
  const { name, target } = metric[member]!;
  const causes = name === '' ? [required(`${field}.name`, 'must specify a resource name')] : [];
  if (member === 'containerResource') {
    if (name !== '') causes.push(...containerResourceCauses(name, `${field}.name`, new Verbatim(name)));
    const { container } = metric.containerResource!;
    const problem = labelProblem(container);
    if (container === '') causes.push(required(`${field}.container`, 'must specify a container'));
    else if (problem !== undefined) causes.push(invalidValue(`${field}.container`, container, problem));
  }
  const { averageUtilization, averageValue } = target;
  causes.push(...targetCauses(target, field));
  if (averageUtilization === undefined && averageValue === undefined) causes.push(required(`${field}.target.averageUtilization`, 'must set either a target raw value or a target utilization'));
  if (averageUtilization !== undefined && averageValue !== undefined) causes.push(forbiddenField(`${field}.target.averageValue`, 'may not set both a target raw value and a target utilization'));
  return causes;
}

const eitherValue = ({ value, averageValue }: MetricTarget, field: string, why: string): Cause[] =>
  value === undefined && averageValue === undefined ? [required(`${field}.target.averageValue`, why)] : [];

function identifierCauses({ name }: MetricIdentifier, field: string): Cause[] {
  return name === '' ? [required(`${field}.metric.name`, 'must specify a metric name')] : segmentCauses(name, `${field}.metric.name`);
}

function targetCauses({ type, value, averageValue, averageUtilization }: MetricTarget, source: string): Cause[] {
  const field = `${source}.target`;
  const causes: Cause[] = [];
  if (type === '') causes.push(required(`${field}.type`, 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) causes.push(invalidValue(`${field}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  for (const [member, amount] of Object.entries({ value, averageValue })) if (amount !== undefined && parseQuantity(amount) <= 0) causes.push(invalidValue(`${field}.${member}`, amount, 'must be positive'));
  if (averageUtilization !== undefined && averageUtilization < 1) causes.push(invalidValue(`${field}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  return causes;
}
