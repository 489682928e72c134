import { describe, expect, it } from '@jest/globals';
import { causesOf, object, type Shape } from '../testing/rules.ts';

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const autoscaler = (spec: object): Shape => object('horizontalpodautoscalers.autoscaling', { spec: { scaleTargetRef, maxReplicas: 3, ...spec } });
const metric = (of: object): Shape => autoscaler({ metrics: [of] });
const target = { type: 'Utilization', averageUtilization: 50 };
const average = { type: 'AverageValue', averageValue: '1' };
const sources = '"ContainerResource", "External", "Object", "Pods", "Resource"';

describe('autoscalers', () => {
  it.each<[string, object]>([
    ['the shortest', {}],
    ['each kind of metric', {
      minReplicas: 2,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target } }, { type: 'ContainerResource', containerResource: { name: 'memory', container: 'main', target: average } },
        { type: 'Pods', pods: { metric: { name: 'requests' }, target: average } }, { type: 'Object', object: { describedObject: scaleTargetRef, metric: { name: 'hits' }, target: { type: 'Value', value: '2k' } } },
        { type: 'External', external: { metric: { name: 'queue', selector: { matchLabels: { a: 'b' } } }, target: average } },
      ],
      behavior: { scaleUp: { selectPolicy: 'Disabled' }, scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 1, periodSeconds: 1800 }] } },
    }],
  ])('that are good have no causes: %s', (_name, spec) => expect(causesOf(autoscaler(spec))).toEqual([]));

  it.each<[name: string, given: Shape, ...causes: string[]]>([
    ['nothing at all', object('horizontalpodautoscalers.autoscaling', { spec: {} }), 'spec.maxReplicas: Invalid value: 0: must be greater than 0', 'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`', 'spec.scaleTargetRef.kind: Required value', 'spec.scaleTargetRef.name: Required value'],
    ['fewer at most than at least', autoscaler({ minReplicas: 4 }), 'spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`'],
    ['none at least', autoscaler({ minReplicas: 0 }), 'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1', 'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas'],
    ['a target that is a path', autoscaler({ scaleTargetRef: { kind: '..', name: 'a/b%c' } }), "spec.scaleTargetRef.kind: Invalid value: \"..\": may not be '..'", "spec.scaleTargetRef.name: Invalid value: \"a/b%c\": may not contain '/'", "spec.scaleTargetRef.name: Invalid value: \"a/b%c\": may not contain '%'"],
    ['a metric of no type', metric({}), 'spec.metrics[0].type: Required value: must specify a metric source type', `spec.metrics[0].type: Unsupported value: "": supported values: ${sources}`],
    ['a metric of another type', metric({ type: 'Moon' }), `spec.metrics[0].type: Unsupported value: "Moon": supported values: ${sources}`],
    ['no source', metric({ type: 'Resource' }), 'spec.metrics[0].resource: Required value: must populate information for the given metric source'],
    ['two sources', metric({ type: 'Resource', resource: { name: 'cpu', target }, pods: { metric: { name: 'x' }, target: average } }), 'spec.metrics[0].pods: Forbidden: must populate the given metric source only'],
    ['an empty source', metric({ type: 'Resource', resource: {} }), 'spec.metrics[0].resource.name: Required value: must specify a resource name', 'spec.metrics[0].resource.target.type: Required value: must specify a metric target type',
      'spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue', 'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization'],
    ['two targets', metric({ type: 'Resource', resource: { name: 'cpu', target: { ...target, averageValue: '0' } } }), 'spec.metrics[0].resource.target.averageValue: Invalid value: "0": must be positive', 'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization'],
    ['no percentage', metric({ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0 } } }), 'spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0'],
    ['no container', metric({ type: 'ContainerResource', containerResource: { name: 'gpu', target } }), 'spec.metrics[0].containerResource.name: Invalid value: gpu: must be a standard resource type or fully qualified', 'spec.metrics[0].containerResource.name: Invalid value: gpu: must be a standard resource for containers', 'spec.metrics[0].containerResource.container: Required value: must specify a container'],
    ['a metric without a name', metric({ type: 'Pods', pods: { target: { type: 'Value', value: '1' } } }), 'spec.metrics[0].pods.metric.name: Required value: must specify a metric name', 'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue'],
    ['a share and a whole', metric({ type: 'External', external: { metric: { name: 'q' }, target: { type: 'Value', value: '1', averageValue: '1' } } }), 'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target'],
    ['no policy', autoscaler({ behavior: { scaleUp: { policies: [] } } }), 'spec.behavior.scaleUp.policies: Required value: must specify at least one Policy'],
    ['a policy of nothing', autoscaler({ behavior: { scaleDown: { selectPolicy: 'Some', stabilizationWindowSeconds: 3601, policies: [{ type: 'Nodes' }] } } }),
      'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600', 'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Some": supported values: "Disabled", "Max", "Min"',
      'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"', 'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero', 'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero'],
  ])('refuse %s', (_name, given, ...causes) => expect(causesOf(given)).toEqual(causes));
});
