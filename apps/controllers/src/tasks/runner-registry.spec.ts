import { describe, expect, it } from '@jest/globals';
import { runnerHappening, runnerStatusOf, type RunnerBeat } from './runner-registry.ts';

const now = Date.UTC(2026, 0, 1);
const runnerBeat: RunnerBeat = {
  runner: 'r', node: 'n', runtime: 'default', instance: 'i1', sentAt: '2026-01-01T00:00:00Z', version: '1', ready: true,
  addresses: [{ family: 'v4', address: '10.0.0.1' }], ports: { http: 80 }, running: [], capacityQps: 10,
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
