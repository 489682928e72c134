import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod, ReplicaSet } from '@roundsman/api';
import { TestCluster } from '../../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1', 'n2');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const { metadata } of await cluster.list('replicasets.apps')) await cluster.delete('replicasets.apps', metadata.name);
  await cluster.until(async () => expect([...(await cluster.list('replicasets.apps')), ...(await cluster.list('pods'))]).toEqual([]));
});

const labels = { app: 'web' };

describe('a replica set', () => {
  const make = (name: string, replicas: number, more: object = {}): Promise<ReplicaSet> =>
    cluster.create<ReplicaSet>({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'web:1' }] } }, ...more } });
  const scale = (name: string, replicas: number): Promise<ReplicaSet> => cluster.edit<ReplicaSet>('replicasets.apps', name, ({ spec }) => void (spec.replicas = replicas));

  it('replaces pods that end or are deleted, and never makes one too many', async () => {
    const set = await make('rs', 20);
    await cluster.until(async () => expect((await cluster.get<ReplicaSet>('replicasets.apps', 'rs'))?.status).toMatchObject({ replicas: 20, readyReplicas: 20 }));
    expect(await cluster.list('pods')).toHaveLength(20);
    const [victim] = await cluster.list<Pod>('pods');
    await cluster.delete('pods', victim!.metadata.name);
    await cluster.until(async () => {
      const pods = await cluster.readyPods();
      expect(pods).toHaveLength(20);
      expect(pods.map(({ metadata }) => metadata.uid)).not.toContain(victim!.metadata.uid);
    });
    await scale('rs', 5);
    await cluster.until(async () => expect((await cluster.get<ReplicaSet>('replicasets.apps', 'rs'))?.status).toMatchObject({ replicas: 5, readyReplicas: 5 }));
    // Pods that are ending count no more, and are there until their node says that they are gone.
    await cluster.until(async () => expect(await cluster.list('pods')).toHaveLength(5));
    await cluster.until(async () => expect((await cluster.events(set)).some((event) => event.startsWith('SuccessfulDelete: (combined from similar events): Deleted pod: rs-'))).toBe(true));
  });

  it('adopts what it selects and releases what it does not select any more', async () => {
    const lonely = await cluster.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lonely', labels }, spec: { containers: [{ name: 'c', image: 'x' }] } });
    const set = await make('rs', 2);
    await cluster.until(async () => expect((await cluster.get<Pod>('pods', 'lonely'))?.metadata.ownerReferences).toMatchObject([{ uid: set.metadata.uid, controller: true }]));
    await cluster.until(async () => expect(await cluster.readyPods()).toHaveLength(2));
    await cluster.edit<Pod>('pods', 'lonely', ({ metadata }) => void (metadata.labels = { app: 'other' }));
    await cluster.until(async () => {
      expect((await cluster.get<Pod>('pods', 'lonely'))?.metadata.ownerReferences ?? []).toEqual([]);
      expect(await cluster.readyPods()).toHaveLength(3);
    });
    expect((await cluster.get<Pod>('pods', 'lonely'))?.metadata.uid).toBe(lonely.metadata.uid);
    await cluster.delete('pods', 'lonely');
  });

  it('tells why its pods cannot be made', async () => {
    const set = await make('rs', 1, { template: { metadata: { labels }, spec: { priorityClassName: 'nobody', containers: [{ name: 'c', image: 'x' }] } } });
    await cluster.until(async () => {
      const stored = await cluster.get<ReplicaSet>('replicasets.apps', 'rs');
      expect(stored?.status?.conditions).toMatchObject([{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: expect.stringContaining('nobody') }]);
      expect((await cluster.events(set))[0]).toMatch(/^FailedCreate: Error creating: .*nobody/);
    });
  });

  it('makes no pod twice when another instance takes over in the middle', async () => {
    const { head: since } = await cluster.store.changes(await cluster.store.head(), { limit: 1 });
    await cluster.startControllers();
    await make('rs', 60);
    await cluster.until(async () => expect((await cluster.list('pods')).length).toBeGreaterThan(5));
    await cluster.stopControllers();
    await cluster.until(async () => expect((await cluster.get<ReplicaSet>('replicasets.apps', 'rs'))?.status).toMatchObject({ replicas: 60, readyReplicas: 60 }));
    const { changes } = await cluster.store.changes(since, { resource: 'pods', limit: 10_000 });
    expect(changes.filter(({ type }) => type === 'ADDED')).toHaveLength(60);
  });
});
