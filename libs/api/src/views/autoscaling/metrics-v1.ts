import type { MetricIdentifier, MetricSpec, MetricStatus, MetricTarget, MetricValue, ObjectReference } from '../../kinds/horizontalpodautoscaler/metric.ts';

/** A metric in the form of autoscaling/v1, which only its annotations hold. */
type Flat = Readonly<Record<string, unknown>>;

/** Absent members stay out, in the order of Kubernetes. */
const given = (members: Flat): Flat => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
const reference = ({ kind, name, apiVersion }: ObjectReference): Flat => given({ kind, name, apiVersion });
/** Where Go has no pointer an amount that is not there is zero. */
const orZero = (amount: string | undefined): string => amount ?? '0';

export function flatSpec({ type, object, pods, resource, containerResource, external }: MetricSpec): Flat {
  return given({
    type,
    object: object && given({ target: reference(object.describedObject), metricName: object.metric.name, targetValue: orZero(object.target.value), selector: object.metric.selector, averageValue: object.target.averageValue }),
    pods: pods && given({ metricName: pods.metric.name, targetAverageValue: orZero(pods.target.averageValue), selector: pods.metric.selector }),
    resource: resource && given({ name: resource.name, targetAverageUtilization: resource.target.averageUtilization, targetAverageValue: resource.target.averageValue }),
    containerResource:
      containerResource &&
      given({ name: containerResource.name, targetAverageUtilization: containerResource.target.averageUtilization, targetAverageValue: containerResource.target.averageValue, container: containerResource.container }),
    external: external && given({ metricName: external.metric.name, metricSelector: external.metric.selector, targetValue: external.target.value, targetAverageValue: external.target.averageValue }),
  });
}

export function flatStatus({ type, object, pods, resource, containerResource, external }: MetricStatus): Flat {
  return given({
    type,
    object: object && given({ target: reference(object.describedObject), metricName: object.metric.name, currentValue: orZero(object.current.value), selector: object.metric.selector, averageValue: object.current.averageValue }),
    pods: pods && given({ metricName: pods.metric.name, currentAverageValue: orZero(pods.current.averageValue), selector: pods.metric.selector }),
    resource: resource && given({ name: resource.name, currentAverageUtilization: resource.current.averageUtilization, currentAverageValue: orZero(resource.current.averageValue) }),
    containerResource:
      containerResource &&
      given({ name: containerResource.name, currentAverageUtilization: containerResource.current.averageUtilization, currentAverageValue: orZero(containerResource.current.averageValue), container: containerResource.container }),
    external: external && given({ metricName: external.metric.name, metricSelector: external.metric.selector, currentValue: orZero(external.current.value), currentAverageValue: external.current.averageValue }),
  });
}

/** As somebody wrote it: the schema of v2 judges what comes out. */
type Written = Readonly<Record<string, Readonly<Record<string, never>> | undefined>>;

const identifier = (name: string, selector: MetricIdentifier['selector']): MetricIdentifier => given({ name, selector }) as unknown as MetricIdentifier;
const target = (type: string, members: Omit<MetricTarget, 'type'>): MetricTarget => given({ type, ...members }) as unknown as MetricTarget;
const value = (members: MetricValue): MetricValue => given(members);
const resourceTarget = (averageUtilization: number | undefined, averageValue: string | undefined): MetricTarget =>
  target(averageUtilization === undefined ? 'AverageValue' : 'Utilization', { averageValue, averageUtilization });

export function specOfFlat(flat: unknown): MetricSpec {
  const { type, object, pods, resource, containerResource, external } = flat as Written;
  return given({
    type,
    object: object && {
      describedObject: object['target'],
      target: target(object['averageValue'] === undefined ? 'Value' : 'AverageValue', { value: object['targetValue'], averageValue: object['averageValue'] }),
      metric: identifier(object['metricName']!, object['selector']),
    },
    pods: pods && { metric: identifier(pods['metricName']!, pods['selector']), target: target('AverageValue', { averageValue: pods['targetAverageValue'] }) },
    resource: resource && { name: resource['name'], target: resourceTarget(resource['targetAverageUtilization'], resource['targetAverageValue']) },
    containerResource:
      containerResource && { name: containerResource['name'], target: resourceTarget(containerResource['targetAverageUtilization'], containerResource['targetAverageValue']), container: containerResource['container'] },
    external: external && {
      metric: identifier(external['metricName']!, external['metricSelector']),
      target: target(external['targetValue'] === undefined ? 'AverageValue' : 'Value', { value: external['targetValue'], averageValue: external['targetAverageValue'] }),
    },
  }) as unknown as MetricSpec;
}

export function statusOfFlat(flat: unknown): MetricStatus {
  const { type, object, pods, resource, containerResource, external } = flat as Written;
  return given({
    type,
    object: object && { metric: identifier(object['metricName']!, object['selector']), current: value({ value: object['currentValue'], averageValue: object['averageValue'] }), describedObject: object['target'] },
    pods: pods && { metric: identifier(pods['metricName']!, pods['selector']), current: value({ averageValue: pods['currentAverageValue'] }) },
    resource: resource && { name: resource['name'], current: value({ averageValue: resource['currentAverageValue'], averageUtilization: resource['currentAverageUtilization'] }) },
    containerResource:
      containerResource && { name: containerResource['name'], current: value({ averageValue: containerResource['currentAverageValue'], averageUtilization: containerResource['currentAverageUtilization'] }), container: containerResource['container'] },
    external: external && { metric: identifier(external['metricName']!, external['metricSelector']), current: value({ value: external['currentValue'], averageValue: external['currentAverageValue'] }) },
  }) as unknown as MetricStatus;
}
