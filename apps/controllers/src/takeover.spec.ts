import { afterEach, describe, expect, it } from '@jest/globals';
import type { ReplicaSet } from '@roundsman/api';
import { messages, type Write } from '@roundsman/bus';
import { TestCluster } from './testing/cluster.ts';
import { intercepted } from './testing/intercepted-bus.ts';

let cluster: TestCluster;
afterEach(() => cluster.stop());

const labels = { app: 'web' };
const replicaSet = (name: string, replicas: number) => ({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x' }] } } } });

describe('a change of leaders', () => {
  it('ends all writing at once: what was begun under the term before is not gone on with', async () => {
    const asked: string[] = [];
    const { promise: held, resolve: answer } = Promise.withResolvers<void>();
    const isPod = ({ operation, resource }: Write): boolean => operation === 'create' && resource === 'pods';
    cluster = await TestCluster.start({}, (bus) =>
      intercepted(bus, {
        request: async (next, message, at, write, ...more) => {
          asked.push(`${(write as Write).operation} ${(write as Write).resource}`);
          const reply = await next(message, at, write, ...more);
          // The first pod is made, and its maker does not hear of it yet.
          if (isPod(write as Write)) await held;
          return reply;
        },
      }),
    );
    await cluster.create(replicaSet('rs', 3));
    await cluster.until(async () => expect(await cluster.list('pods')).toHaveLength(1));
    await cluster.loseDatabase();
    await cluster.until(async () => expect(cluster.said).toContain('no longer leading'));
    const before = asked.length;
    answer();
    await cluster.stopControllers();
    expect(asked.slice(before)).toEqual([]);
  });

  it('waits until what the leader before wrote is known: nothing is made again', async () => {
    cluster = await TestCluster.start();
    const since = await cluster.store.head();
    let deaf = false;
    // Hears of the replica set, and of nothing that comes after it.
    await cluster.startControllers({}, (bus) =>
      intercepted(bus, {
        subscribe: (next, message, at, handle, ...more) => {
          if (message !== messages.change && message !== messages.changeHead) return next(message, at, handle, ...more);
          const hear = (received: { payload: { resource?: string } }): void => {
            if (deaf) return;
            (handle as (received: unknown) => void)(received);
            if (received.payload.resource === 'replicasets.apps') deaf = true;
          };
          return next(message, at, hear, ...more);
        },
      }),
    );
    await cluster.create(replicaSet('rs', 3));
    await cluster.until(async () => expect((await cluster.get<ReplicaSet>('replicasets.apps', 'rs'))?.status?.replicas).toBe(3));
    await cluster.until(async () => expect(deaf).toBe(true));
    await cluster.stopControllers();
    await cluster.until(async () => expect(cluster.said.filter((one) => one === 'leading')).toHaveLength(2));
    // Looked at by the new leader: its first look follows the change of the number.
    await cluster.edit<ReplicaSet>('replicasets.apps', 'rs', ({ spec }) => void (spec.replicas = 4));
    deaf = false;
    await cluster.until(async () => expect((await cluster.get<ReplicaSet>('replicasets.apps', 'rs'))?.status?.replicas).toBe(4));
    const { changes } = await cluster.store.changes(since, { resource: 'pods', limit: 100 });
    expect(changes.filter(({ type }) => type === 'ADDED').length).toBe(4);
  });
});
