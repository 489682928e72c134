import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, jsonValue, property } from 'fast-check';
import { ApiError } from '../../errors.ts';
import { horizontalPodAutoscaler } from '../../kinds/horizontalpodautoscaler.ts';
import type { KubeObject } from '../../meta.ts';
import { autoscalerRules } from '../../rules/autoscaler.ts';
import { decode } from '../../validation/decode.ts';
import { autoscalingV1 as view } from './autoscaling-v1.ts';

/** A cluster of which nothing is known. */
const nothing = { get: () => undefined, list: () => [] };
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } };
const others = [
  { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'main', target: { type: 'Utilization', averageUtilization: 70 } } },
  { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '5' } } },
  { type: 'External', external: { metric: { name: 'queue', selector: { matchLabels: { a: 'b' } } }, target: { type: 'AverageValue', averageValue: '3' } } },
];
const behavior = { scaleDown: { stabilizationWindowSeconds: 60, selectPolicy: 'Min', policies: [{ type: 'Pods', value: 1, periodSeconds: 20 }] } };
const condition = { type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const status = {
  currentReplicas: 2, desiredReplicas: 3, lastScaleTime: '2026-01-01T00:00:00Z', conditions: [condition],
  currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 90, averageValue: '45m' } } }, { type: '' }],
};
const stored = (spec: object, more: { annotations?: object; status?: object } = {}): KubeObject =>
  decode(horizontalPodAutoscaler, { metadata: { name: 'x', namespace: 'default', ...(more.annotations === undefined ? {} : { annotations: more.annotations }) }, spec: { scaleTargetRef, maxReplicas: 5, ...spec }, ...(more.status === undefined ? {} : { status: more.status }) }, 'Strict').object;
/** Written as intake does it. */
function back(object: unknown): KubeObject {
  const body = view.fromView(object as Record<string, unknown>, undefined, 'Strict', nothing).object;
  horizontalPodAutoscaler.prepare?.(body, undefined);
  const stored = decode(horizontalPodAutoscaler, body, 'Strict').object;
  autoscalerRules(stored);
  return stored;
}
const key = (name: string): string => `autoscaling.alpha.kubernetes.io/${name}`;

describe('autoscaling/v1', () => {
  it('shows the processor time as a member, all the rest as the annotations of Kubernetes', () => {
    const shown = view.toView(stored({ metrics: [cpu, ...others], behavior }, { annotations: { mine: 'yes' }, status }));
    expect(shown).toMatchObject({
      apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler', spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 5, targetCPUUtilizationPercentage: 60 },
      status: { currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 90, lastScaleTime: '2026-01-01T00:00:00Z' },
    });
    // As written by kube-apiserver 1.32.2, to the letter.
    expect(shown.metadata.annotations).toEqual({
      mine: 'yes',
      [key('metrics')]: '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}},{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":70,"container":"main"}},'
        + '{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"5"}},{"type":"External","external":{"metricName":"queue","metricSelector":{"matchLabels":{"a":"b"}},"targetAverageValue":"3"}}]',
      [key('current-metrics')]: '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":90,"currentAverageValue":"45m"}},{"type":""}]',
      [key('behavior')]: '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}]},'
        + '"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":20}]}}',
      [key('conditions')]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"ReadyForNewScale","message":"recommended size matches current size"}]',
    });
  });
  it('loses nothing on the way back; what it has a member for comes last', () => {
    const object = stored({ metrics: [...others, cpu], behavior }, { annotations: { mine: 'yes' }, status });
    expect(back(view.toView(object))).toEqual(object);
  });
  it('means 80 % of the processor time when nothing is said', () => {
    expect(back({ metadata: { name: 'x' }, spec: { scaleTargetRef, maxReplicas: 2 } })).toMatchObject({ apiVersion: 'autoscaling/v2', spec: { minReplicas: 1, metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 80 } } }] } });
    expect(view.toView(stored({})).spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 2 + 3, targetCPUUtilizationPercentage: 80 });
  });
  it('passes over annotations that nobody can read', () => {
    const annotations = { [key('metrics')]: '{', [key('behavior')]: '[]', [key('conditions')]: '"x"', kept: 'a' };
    const object = back({ metadata: { name: 'x', annotations }, spec: { scaleTargetRef, maxReplicas: 2, targetCPUUtilizationPercentage: 10 } });
    expect(object.metadata.annotations).toEqual({ kept: 'a' });
    expect(object.spec).toEqual({ scaleTargetRef, minReplicas: 1, maxReplicas: 2, metrics: [{ ...cpu, resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 10 } } }] });
  });
  it('refuses what is no metric or behavior, and fails in no other way', () =>
    assert(property(jsonValue(), constantFrom('metrics', 'behavior', 'current-metrics', 'conditions'), constantFrom('Resource', 'resource', 'object', 'ScaleUp', 'policies'), (value, name, member) => {
      for (const written of [value, [{ [member]: value }], { ScaleUp: { [member]: value, Policies: [value] } }]) {
        const body = { metadata: { name: 'x', annotations: { [key(name)]: JSON.stringify(written) } }, spec: { scaleTargetRef, maxReplicas: 2 } };
        try {
          view.toView(back(body));
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
        }
      }
    })));
  it('has the columns of v2', () => {
    const cells = view.columns.map(({ cell }) => cell(view.toView(stored({ metrics: [cpu, ...others] }, { status })), 0));
    expect(cells.slice(0, 6)).toEqual(['x', 'Deployment/web', 'cpu: 90%/60%, memory: <unknown>/100Mi + 3 more...', '1', 5, 2]);
  });
  it('refuses members of v2', () => {
    expect(() => view.fromView({ metadata: { name: 'x' }, spec: { scaleTargetRef, maxReplicas: 2, metrics: [] } }, undefined, 'Strict', nothing)).toThrow('HorizontalPodAutoscaler in version "v1" cannot be handled as a HorizontalPodAutoscaler: strict decoding error: unknown field "spec.metrics"');
  });
});
