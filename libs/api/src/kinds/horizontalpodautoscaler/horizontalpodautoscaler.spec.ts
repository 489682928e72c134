import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../meta.ts';
import { decode } from '../../validation/decode.ts';
import { horizontalPodAutoscaler as kind } from '../horizontalpodautoscaler.ts';

const read = (spec: object, status?: object): KubeObject =>
  decode(kind, { metadata: { name: 'x' }, spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas: 3, ...spec }, ...(status === undefined ? {} : { status }) }, 'Strict').object;

describe('an autoscaler', () => {
  it('scales by 80 % of the processor time, between 1 and the most, when nothing is said', () => {
    const { spec, status } = read({});
    expect(spec).toEqual({ scaleTargetRef: { kind: 'Deployment', name: 'web' }, minReplicas: 1, maxReplicas: 3, metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }] });
    expect(status).toEqual({ desiredReplicas: 0, currentMetrics: null });
  });
  it('has the whole of a behavior of which only a part is said', () => {
    const scaleUp = { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, { type: 'Percent', value: 100, periodSeconds: 15 }] };
    const scaleDown = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
    expect(read({ behavior: {} }).spec).toMatchObject({ behavior: { scaleUp, scaleDown } });
    expect(read({ behavior: { scaleDown: { stabilizationWindowSeconds: 60 } } }).spec).toHaveProperty('behavior', { scaleUp, scaleDown: { ...scaleDown, stabilizationWindowSeconds: 60 } });
  });
  it('is the same when it is read again', () => {
    const once = read({ behavior: {} }, { currentReplicas: 0, desiredReplicas: 2 });
    expect(decode(kind, structuredClone(once) as never, 'Strict').object).toEqual(once);
  });

  const utilization = (averageUtilization: number) => ({ type: 'Utilization', averageUtilization });
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: utilization(50) } };
  const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } };
  const external = { type: 'External', external: { metric: { name: 'q' }, target: { type: 'AverageValue', averageValue: '5' } } };
  const hits = { type: 'Object', object: { describedObject: { kind: 'Ingress', name: 'i' }, metric: { name: 'h' }, target: { type: 'Value', value: '2k' } } };
  const using = (...currentMetrics: object[]) => ({ currentMetrics, currentReplicas: 2 });
  it.each<[string, object[], object | undefined]>([
    ['cpu: <unknown>/50%', [cpu], undefined],
    ['cpu: 10%/50%', [cpu], using({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 10, averageValue: '10m' } } })],
    ['cpu: <unknown>/50%, memory: 20Mi/100Mi', [cpu, memory], using({ type: '' }, { type: 'Resource', resource: { name: 'memory', current: { averageValue: '20Mi' } } })],
    ['cpu: <unknown>/50%, memory: <unknown>/100Mi + 2 more...', [cpu, memory, external, hits], undefined],
    ['<unknown>/5 (avg), 3/2k', [external, hits], using({ type: '' }, { type: 'Object', object: { metric: { name: 'h' }, describedObject: { kind: 'Ingress', name: 'i' }, current: { value: '3' } } })],
    ['memory: 7%/50%', [{ type: 'ContainerResource', containerResource: { name: 'memory', container: 'c', target: utilization(50) } }], using({ type: 'ContainerResource', containerResource: { name: 'memory', container: 'c', current: { averageUtilization: 7 } } })],
  ])('shows %s', (text, metrics, status) => {
    const cells = kind.columns.map(({ cell }) => cell(read({ metrics }, status), 0));
    expect(cells.slice(1, 6)).toEqual(['Deployment/web', text, '1', 3, status === undefined ? 0 : 2]);
  });
});
