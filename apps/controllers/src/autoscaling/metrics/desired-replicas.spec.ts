import { describe, expect, it } from '@jest/globals';
import type { MetricSpec, Pod, PodMetrics } from '@roundsman/api';
import { desiredReplicas, type Desired } from './desired-replicas.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const container = (name: string, requests: object) => ({ name, resources: { requests } });
const pod = (name: string, ...containers: object[]): Pod =>
  ({
    metadata: { name, namespace: 'default' }, spec: { containers },
    status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:05Z' }] },
  }) as unknown as Pod;
const usage = (name: string, containers: Record<string, object>): PodMetrics =>
  ({ metadata: { name, namespace: 'default' }, timestamp: '2026-01-01T00:59:59Z', window: '10s', containers: Object.entries(containers).map(([one, used]) => ({ name: one, usage: used })) }) as unknown as PodMetrics;

const pods = ['a', 'b'].map((name) => pod(name, container('main', { cpu: '100m', memory: '10Mi' }), container('side', { memory: '10Mi' })));
const told = ['a', 'b'].map((name) => usage(name, { main: { cpu: '150000000n', memory: '20480Ki' }, side: { cpu: '1n', memory: '0Ki' } }));
const desired = (metrics: MetricSpec[], more: { told?: PodMetrics[]; pods?: Pod[]; currentReplicas?: number } = {}): Desired =>
  desiredReplicas(metrics, { pods, told, namespace: 'default', currentReplicas: 2, readiness: { cpuInitializationMs: 300_000, initialReadinessDelayMs: 30_000 }, tolerance: 0.1, nowMs, ...more });
const utilization = (averageUtilization: number) => ({ type: 'Utilization', averageUtilization });
const resource = (name: string, target: object): MetricSpec => ({ type: 'Resource', resource: { name, target } }) as MetricSpec;
const inContainer = (name: string, inside: string, target: object): MetricSpec => ({ type: 'ContainerResource', containerResource: { name, container: inside, target } }) as MetricSpec;

describe('what metrics ask for', () => {
  it('is told of one container, of all together, and on the average', () => {
    expect(desired([inContainer('cpu', 'main', utilization(50))])).toEqual({
      replicas: 6, metric: 'cpu container resource utilization (percentage of request)', failures: [],
      statuses: [{ type: 'ContainerResource', containerResource: { name: 'cpu', container: 'main', current: { averageUtilization: 150, averageValue: '150m' } } }],
    });
    expect(desired([resource('memory', utilization(100))])).toMatchObject({ replicas: 2, statuses: [{ resource: { current: { averageUtilization: 100, averageValue: String(20 << 20) } } }] });
    expect(desired([resource('memory', { type: 'AverageValue', averageValue: '8Mi' })])).toMatchObject({ replicas: 5, metric: 'memory resource', statuses: [{ resource: { current: { averageValue: String(20 << 20) } } }] });
  });
  it('is the most that one of them asks for', () => expect(desired([resource('memory', utilization(50)), inContainer('cpu', 'main', utilization(50))])).toMatchObject({ replicas: 6, statuses: [{ type: 'Resource' }, { type: 'ContainerResource' }] }));
  it('is acted on in part only upwards', () => {
    expect(desired([resource('cpu', utilization(50)), resource('memory', utilization(50))])).toMatchObject({ replicas: 4, metric: 'memory resource utilization (percentage of request)', statuses: [{ type: '' }, { type: 'Resource' }] });
    expect(desired([resource('cpu', utilization(50)), resource('memory', utilization(400))])).toMatchObject({ replicas: undefined });
  });

  const missing = 'missing request for cpu in container side of Pod a';
  it.each<[string, MetricSpec, string, string, string]>([
    ['no request', resource('cpu', utilization(50)), 'FailedGetResourceMetric', `failed to get cpu utilization: ${missing}`, `failed to get cpu resource metric value: failed to get cpu utilization: ${missing}`],
    ['no container', inContainer('cpu', 'gone', utilization(50)), 'FailedGetContainerResourceMetric', 'failed to get cpu utilization: unable to get metrics for resource cpu: failed to get container metrics: container gone not present in metrics for pod default/a',
      'failed to get gone container metric value: failed to get cpu utilization: unable to get metrics for resource cpu: failed to get container metrics: container gone not present in metrics for pod default/a'],
    ['a metric of pods', { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1' } } }, 'FailedGetPodsMetric',
      'unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
      'failed to get pods metric value: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered'],
    ['a metric of an object', { type: 'Object', object: { describedObject: { kind: 'Ingress', name: 'main' }, metric: { name: 'hits' }, target: { type: 'Value', value: '1' } } }, 'FailedGetObjectMetric',
      'unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered on Ingress default/main',
      'failed to get object metric value: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered on Ingress default/main'],
    ['a metric from outside', { type: 'External', external: { metric: { name: 'queue', selector: { matchLabels: { b: '2', a: '1' } } }, target: { type: 'Value', value: '1' } } }, 'FailedGetExternalMetric',
      'unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)',
      'failed to get queue external metric value: failed to get external metric queue: unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)'],
  ])('cannot be told for %s', (_name, metric, reason, message, first) => {
    expect(desired([metric])).toEqual({ replicas: undefined, metric: '', statuses: [{ type: '' }], failures: [{ reason, message }], problem: `invalid metrics (1 invalid out of 1), first error is: ${first}` });
  });
  it('cannot be told when no agent says anything', () => expect(desired([resource('cpu', utilization(50))], { told: [] }).failures).toEqual([{ reason: 'FailedGetResourceMetric', message: 'failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API' }]));
});
