import { quantityMillis, type PodMetrics as Told } from '@roundsman/api';
import type { PodMetric, PodMetrics } from '../replicas/pod-groups.ts';
import { MetricError } from './metric-error.ts';

/** What each pod uses of a resource, all its containers together or the one that is named. Throws a MetricError when nothing is known, or a pod has no such container. */
export function podMetrics(told: readonly Told[], resource: string, container: string | undefined): PodMetrics {
  if (told.length === 0) throw new MetricError('no metrics returned from resource metrics API');
  return new Map(told.flatMap((one): [string, PodMetric][] => {
    const value = container === undefined ? sumOf(one, resource) : valueOf(one, resource, container);
    return value === undefined ? [] : [[one.metadata.name, { value, atMs: Date.parse(one.timestamp), windowMs: Number.parseFloat(one.window) * 1000 }]];
  }));
}

function valueOf({ metadata, containers }: Told, resource: string, container: string): number | undefined {
  const found = containers.find(({ name }) => name === container);
  if (found === undefined) throw new MetricError(`failed to get container metrics: container ${container} not present in metrics for pod ${metadata.namespace}/${metadata.name}`);
  const amount = found.usage[resource];
  return amount === undefined ? undefined : quantityMillis(amount);
}

/** Undefined when one of them does not say. */
function sumOf({ containers }: Told, resource: string): number | undefined {
  let sum = 0;
  for (const { usage } of containers) {
    if (usage[resource] === undefined) return undefined;
    sum += quantityMillis(usage[resource]);
  }
  return containers.length === 0 ? undefined : sum;
}
