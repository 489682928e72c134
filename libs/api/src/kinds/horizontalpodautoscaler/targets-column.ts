import type { KubeObject } from '../../meta.ts';
import type { MetricSpec, MetricStatus } from './metric.ts';
import type { HorizontalPodAutoscaler } from './schema.ts';

/** So many metrics are shown. */
const most = 2;
const unknown = '<unknown>';

/** `cpu: 10%/50%, memory: 20Mi/100Mi + 1 more...`: what each metric is, and what it is to be. */
export function targetsText(object: KubeObject): string {
  const { spec, status } = object as HorizontalPodAutoscaler;
  const metrics = spec.metrics ?? [];
  if (metrics.length === 0) return '<none>';
  const shown = metrics.slice(0, most).map((metric, index) => metricText(metric, status?.currentMetrics?.[index]));
  return `${shown.join(', ')}${metrics.length > most ? ` + ${metrics.length - most} more...` : ''}`;
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  if (spec.type === 'Resource' && spec.resource !== undefined) return resourceText(spec.resource, status?.resource?.current);
  if (spec.type === 'ContainerResource' && spec.containerResource !== undefined) return resourceText(spec.containerResource, status?.containerResource?.current);
  if (spec.type === 'Pods') return `${status?.pods?.current.averageValue ?? unknown}/${spec.pods?.target.averageValue}`;
  if (spec.type === 'Object') return valueText(spec.object?.target, status?.object?.current);
  if (spec.type === 'External') return valueText(spec.external?.target, status?.external?.current);
  return '<unknown type>';
}

type Target = NonNullable<MetricSpec['resource']>['target'];
type Current = NonNullable<MetricStatus['resource']>['current'] | undefined;

function resourceText({ name, target }: { readonly name: string; readonly target: Target }, current: Current): string {
  if (target.averageValue !== undefined) return `${name}: ${current?.averageValue ?? unknown}/${target.averageValue}`;
  const percent = (value: number | undefined, without: string): string => (value === undefined ? without : `${value}%`);
  return `${name}: ${percent(current?.averageUtilization, unknown)}/${percent(target.averageUtilization, '<auto>')}`;
}

const valueText = (target: Target | undefined, current: Current): string =>
  target?.averageValue === undefined ? `${current?.value ?? unknown}/${target?.value}` : `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`;
