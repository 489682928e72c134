import { canonicalQuantity, quantityMillis, type MetricSpec, type MetricStatus, type MetricTarget, type MetricValue, type PodMetrics } from '@roundsman/api';
import { replicasForAverage, replicasForUtilization, type Measured, type Proposal } from '../replicas/resource-replicas.ts';
import { MetricError } from './metric-error.ts';
import { podMetrics } from './pod-metrics.ts';
import { unservedMetric } from './unserved.ts';

export interface Failure {
  /** Of the event and of the condition: `FailedGetResourceMetric`. */
  readonly reason: string;
  readonly message: string;
}

/** What all metrics together ask for. */
export interface Desired {
  /** The highest number that a metric asks for; undefined when it may not be acted on. */
  readonly replicas: number | undefined;
  /** The metric that asks for it, as events name it. */
  readonly metric: string;
  /** In the order of the spec; an empty one for each that failed. */
  readonly statuses: readonly MetricStatus[];
  readonly failures: readonly Failure[];
  /** What is told when some failed. */
  readonly problem?: string;
}

/** What every metric is computed from. */
export interface Ground extends Omit<Measured, 'metrics' | 'resource' | 'container'> {
  readonly namespace: string;
  readonly told: readonly PodMetrics[];
}

interface Outcome extends Pick<Proposal, 'replicas'> {
  readonly name: string;
  readonly status: MetricStatus;
}

/** The highest of what the metrics ask for. When some fail there may be more pods, but not fewer: those that failed might have asked for more. */
export function desiredReplicas(metrics: readonly MetricSpec[], ground: Ground): Desired {
  const statuses: MetricStatus[] = [];
  const failures: Failure[] = [];
  let first: string | undefined;
  let best: Outcome | undefined;
  for (const spec of metrics) {
    try {
      const outcome = outcomeOf(spec, ground);
      statuses.push(outcome.status);
      if (best === undefined || outcome.replicas > best.replicas) best = outcome;
    } catch (error) {
      if (!(error instanceof MetricError)) throw error;
      statuses.push({ type: '' });
      failures.push({ reason: `FailedGet${spec.type}Metric`, message: error.message });
      first ??= `${failureOf(spec)}: ${error.message}`;
    }
  }
  const blocked = best === undefined || (failures.length > 0 && best.replicas < ground.currentReplicas);
  return {
    replicas: blocked ? undefined : best?.replicas,
    metric: best?.name ?? '',
    statuses,
    failures,
    ...(first === undefined ? {} : { problem: `invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${first}` }),
  };
}

function outcomeOf({ type, resource, containerResource, object, pods, external }: MetricSpec, ground: Ground): Outcome {
  if (type === 'Resource' && resource !== undefined) {
    const { name, target } = resource;
    const { current, ...outcome } = resourceOutcome(ground, name, undefined, target);
    return { ...outcome, status: { type, resource: { name, current } } };
  }
  if (type === 'ContainerResource' && containerResource !== undefined) {
    const { name, container, target } = containerResource;
    const { current, ...outcome } = resourceOutcome(ground, name, container, target);
    return { ...outcome, status: { type, containerResource: { name, container, current } } };
  }
  if (object !== undefined) unservedMetric({ object }, ground.namespace);
  if (pods !== undefined) unservedMetric({ pods }, ground.namespace);
  if (external !== undefined) unservedMetric({ external }, ground.namespace);
  throw new MetricError(`unknown metric source type ${JSON.stringify(type)}`);
}

function resourceOutcome(ground: Ground, resource: string, container: string | undefined, { averageValue, averageUtilization }: MetricTarget): { replicas: number; name: string; current: MetricValue } {
  const what = averageValue === undefined ? 'utilization' : 'usage';
  try {
    const measured: Measured = { ...ground, resource, container, metrics: metricsOf(ground.told, resource, container) };
    if (averageValue !== undefined) {
      const { replicas, average } = replicasForAverage(measured, quantityMillis(averageValue));
      return { replicas, name: `${resource} resource`, current: { averageValue: amount(average) } };
    }
    const { replicas, percent, average } = replicasForUtilization(measured, averageUtilization as number);
    const name = `${resource} ${container === undefined ? '' : 'container '}resource utilization (percentage of request)`;
    return { replicas, name, current: { averageValue: amount(average), ...(percent === undefined ? {} : { averageUtilization: percent }) } };
  } catch (error) {
    throw error instanceof MetricError ? new MetricError(`failed to get ${resource} ${what}: ${error.message}`) : error;
  }
}

function metricsOf(told: readonly PodMetrics[], resource: string, container: string | undefined): Measured['metrics'] {
  try {
    return podMetrics(told, resource, container);
  } catch (error) {
    throw error instanceof MetricError ? new MetricError(`unable to get metrics for resource ${resource}: ${error.message}`) : error;
  }
}

/** Thousandths as a quantity. */
const amount = (thousandths: number): string => canonicalQuantity(`${thousandths}m`) as string;

/** How the message about all metrics begins when this one failed first. */
function failureOf({ type, resource, containerResource, object, external }: MetricSpec): string {
  if (type === 'Resource') return `failed to get ${resource?.name} resource metric value`;
  if (type === 'ContainerResource') return `failed to get ${containerResource?.container} container metric value`;
  if (type === 'Pods') return 'failed to get pods metric value';
  if (type === 'Object') return `failed to get object metric value${object?.target.type === 'AverageValue' ? `: failed to get ${object.metric.name} object metric` : ''}`;
  const name = external?.metric.name;
  return `failed to get ${name} external metric value: failed to get ${external?.target.averageValue === undefined ? `external metric ${name}` : `${name} external metric`}`;
}
