import { describe, expect, it } from '@jest/globals';
import type { DaemonSet, Deployment } from '@roundsman/api';
import { MemoryCluster } from '@roundsman/cluster';
import { daemonSetOf } from '../testing/objects.ts';
import { WhyNoPods } from './why-no-pods.ts';

const events = { apiVersion: 'v1', kind: 'Event', plural: 'events', namespaced: true };

describe('why there are no pods', () => {
  it('says the condition of a Deployment', async () => {
    const deployment = { ...daemonSetOf('d'), status: { conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }] } } as unknown as Deployment;
    expect(await new WhyNoPods(new MemoryCluster()).of('shop/rt', deployment)).toBe('exceeded quota');
  });

  it('say the events of a DaemonSet, the last one; listed seldom, and again for another', async () => {
    const cluster = new MemoryCluster();
    let lists = 0;
    cluster.before = () => void (lists += 1);
    const set: DaemonSet = daemonSetOf('d');
    const tell = (name: string, message: string, lastTimestamp: string, more: object = {}) =>
      cluster.change(events, 'shop', name, (event) => Object.assign(event, { involvedObject: { uid: set.metadata.uid }, type: 'Warning', reason: 'FailedCreate', message, lastTimestamp, ...more }));
    tell('e1', 'old', '2026-01-01T00:00:01Z');
    tell('e2', 'exceeded quota: small', '2026-01-01T00:00:03Z');
    tell('e3', 'of another', '2026-01-01T00:00:09Z', { involvedObject: { uid: 'x' } });
    tell('e4', 'Created pod', '2026-01-01T00:00:09Z', { type: 'Normal', reason: 'SuccessfulCreate' });
    const why = new WhyNoPods(cluster);
    expect([await why.of('shop/rt', set), await why.of('shop/rt', set), lists]).toEqual(['exceeded quota: small', 'exceeded quota: small', 1]);
    cluster.before = () => {
      throw new Error('away');
    };
    expect(await why.of('shop/other', set)).toBeUndefined();
  });
});
