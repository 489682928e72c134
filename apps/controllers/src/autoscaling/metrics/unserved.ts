import type { LabelSelector, MetricSpec } from '@roundsman/api';
import { MetricError } from './metric-error.ts';

/** Metrics that only custom.metrics.k8s.io and external.metrics.k8s.io have, which this cluster does not serve. */
type Unserved = Required<Pick<MetricSpec, 'object'>> | Required<Pick<MetricSpec, 'pods'>> | Required<Pick<MetricSpec, 'external'>>;

const noCustom = 'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';

/** Always throws what Kubernetes says where nobody serves them. */
export function unservedMetric(metric: Unserved, namespace: string): never {
  if ('object' in metric) {
    const { describedObject, metric: { name } } = metric.object;
    throw new MetricError(`unable to get metric ${name}: ${noCustom} on ${describedObject.kind} ${namespace}/${describedObject.name}`);
  }
  if ('pods' in metric) throw new MetricError(`unable to get metric ${metric.pods.metric.name}: ${noCustom}`);
  const { name, selector } = metric.external.metric;
  throw new MetricError(`unable to get external metric ${namespace}/${name}/${selectorText(selector)}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`);
}

/** As Go prints one. */
function selectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => `${key}: ${value},`);
  const requirements = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`);
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`;
}
