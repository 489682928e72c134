import { describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { nodeMetricsOf, podMetricsOf } from './metrics.ts';
import type { Stats } from './node-stats.ts';

const stats: Stats = {
  at: '2026-01-01T00:00:00.000Z', windowSeconds: 14.2504, node: { cpuNanoCores: 1.5e9, memoryBytes: 1 << 30 },
  pods: [{ namespace: 'default', name: 'web', uid: 'u-1', containers: [{ name: 'a', cpuNanoCores: 250_000_000.4, memoryBytes: 2048 }] }],
};
const pod = (uid: string, running: readonly string[] = ['a']): Pod =>
  ({ metadata: { name: 'web', namespace: 'default', uid, labels: { app: 'web' } }, status: { containerStatuses: running.map((name) => ({ name, state: { running: {} } })) } }) as unknown as Pod;

describe('what an agent says, as metrics.k8s.io has it', () => {
  it('of a node', () => expect(nodeMetricsOf({ metadata: { name: 'n' } as never }, stats)).toEqual({
    kind: 'NodeMetrics', apiVersion: 'metrics.k8s.io/v1beta1', metadata: { name: 'n', creationTimestamp: stats.at }, timestamp: stats.at, window: '14.25s', usage: { cpu: '1500000000n', memory: '1048576Ki' },
  }));
  it('of a pod', () => expect(podMetricsOf(pod('u-1'), stats)).toMatchObject({ metadata: { name: 'web', namespace: 'default', labels: { app: 'web' } }, containers: [{ name: 'a', usage: { cpu: '250000000n', memory: '2Ki' } }] }));
  it('not of another pod of that name', () => expect(podMetricsOf(pod('u-2'), stats)).toBeUndefined());
  it('not of a pod of which a container that runs was not measured', () => {
    expect(podMetricsOf(pod('u-1', ['a', 'b']), stats)).toBeUndefined();
    expect(podMetricsOf({ ...pod('u-1'), status: { containerStatuses: [{ name: 'a', state: { running: {} } }, { name: 'b', state: { terminated: {} } }] } as never }, stats)).toBeDefined();
  });
});
