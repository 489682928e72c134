import { describe, expect, it } from '@jest/globals';
import { runnerHappening, runnerStatusOf, type RunnerBeat } from '../tasks/runner-registry.ts';
import { nodeHappening, nodeStatusOf, type NodeBeat } from './node-lifecycle.ts';

const now = Date.UTC(2026, 0, 1);
const runnerBeat: RunnerBeat = {
  runner: 'r', node: 'n', runtime: 'default', instance: 'i1', sentAt: '2026-01-01T00:00:00Z', version: '1', ready: true,
  addresses: [{ family: 'v4', address: '10.0.0.1' }], ports: { http: 80 }, running: [], capacityQps: 10,
};
const nodeBeat: NodeBeat = {
  node: 'n', instance: 'i1', sentAt: '2026-01-01T00:00:00Z', addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], capacity: { cpu: '2' }, allocatable: { cpu: '2' }, nodeInfo: { kubeletVersion: 'v1' }, labels: {},
  conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'fine' }],
};

describe('a runner from its heartbeats', () => {
  const first = runnerStatusOf(undefined, runnerBeat, 5_000, now);

  it('is as the heartbeat says; another heartbeat without news changes nothing', () => {
    expect(first).toMatchObject({ node: 'n', ready: true, instance: 'i1', lastTransitionTime: '2026-01-01T00:00:00Z' });
    expect(first).not.toHaveProperty('reason');
    expect(runnerStatusOf(first, { ...runnerBeat, sentAt: '2026-01-01T00:00:09Z', running: [{ taskUid: 'u', round: 1 }] }, 5_000, now + 9_000)).toEqual(first);
  });

  it('is not ready when silent, once, and ready again when heard', () => {
    const lost = runnerStatusOf(first, undefined, 5_000, now + 5_000);
    expect(lost).toMatchObject({ ready: false, reason: 'no heartbeat since 2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:05Z', ports: { http: 80 } });
    expect(runnerStatusOf(lost, undefined, 5_000, now + 9_000)).toEqual(lost);
    const back = runnerStatusOf(lost, { ...runnerBeat, instance: 'i2' }, 5_000, now + 20_000);
    expect(back).toMatchObject({ ready: true, instance: 'i2', lastTransitionTime: '2026-01-01T00:00:20Z' });
    expect([runnerHappening(undefined, first!), runnerHappening(first, lost!), runnerHappening(lost, back!), runnerHappening(lost, { ...back!, instance: 'i1' }), runnerHappening(first, first!)].map((one) => one?.[1])).toEqual([
      'RunnerJoined', 'RunnerLost', 'RunnerRestarted', 'RunnerReady', undefined,
    ]);
  });

  it('says why it takes no rounds', () => {
    expect(runnerStatusOf(undefined, { ...runnerBeat, ready: false, reason: 'draining' }, 5_000, now)).toMatchObject({ ready: false, reason: 'draining' });
    expect(runnerStatusOf(undefined, undefined, 5_000, now)).toBeUndefined();
  });
});

describe('a node from its heartbeats', () => {
  const first = nodeStatusOf(undefined, nodeBeat, 10_000, now)!;
  const ready = (of: typeof first) => of.conditions?.find(({ type }) => type === 'Ready');

  it('is written once while nothing changes', () => {
    expect(ready(first)).toMatchObject({ status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' });
    expect(nodeStatusOf(first, { ...nodeBeat, sentAt: '2026-01-01T00:00:02Z' }, 10_000, now + 2_000)).toEqual(first);
  });

  it('is of unknown readiness when its agent is silent, and keeps what was known', () => {
    const lost = nodeStatusOf(first, undefined, 10_000, now + 10_000)!;
    expect(ready(lost)).toMatchObject({ status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: '2026-01-01T00:00:10Z' });
    expect(lost.capacity).toEqual({ cpu: '2' });
    expect(nodeStatusOf(lost, undefined, 10_000, now + 60_000)).toEqual(lost);
    const back = nodeStatusOf(lost, nodeBeat, 10_000, now + 70_000)!;
    expect(ready(back)).toMatchObject({ status: 'True', reason: 'AgentReady', lastTransitionTime: '2026-01-01T00:01:10Z' });
    expect([nodeHappening('n', undefined, first), nodeHappening('n', first, lost), nodeHappening('n', lost, back), nodeHappening('n', first, first)].map((one) => one?.[1])).toEqual([
      'RegisteredNode', 'NodeNotReady', 'NodeReady', undefined,
    ]);
  });
});
