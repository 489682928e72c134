import { describe, expect, it } from '@jest/globals';
import { nodeHappening, nodeStatusOf, type NodeBeat } from './node-lifecycle.ts';

const now = Date.UTC(2026, 0, 1);
const nodeBeat: NodeBeat = {
  node: 'n', instance: 'i1', sentAt: '2026-01-01T00:00:00Z', addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], capacity: { cpu: '2' }, allocatable: { cpu: '2' }, nodeInfo: { kubeletVersion: 'v1' }, labels: {}, annotations: {},
  conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'fine' }],
};

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
