import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { MemoryCluster } from './memory-cluster.ts';
import { resources } from './resources.ts';

const daemonSet = (spec: object, metadata: object = {}): KubeObject => ({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'a', namespace: 'x', ...metadata }, spec }) as unknown as KubeObject;

describe('MemoryCluster', () => {
  it('applies as a server does: what was said before and is not any more goes, what others wrote stays, the same twice changes nothing', async () => {
    const cluster = new MemoryCluster();
    const made = await cluster.apply(daemonSet({ template: { one: 1, two: 2 } }, { labels: { a: '1', b: '2' } }));
    cluster.change(resources.daemonSets, 'x', 'a', (object) => Object.assign(object, { status: { numberReady: 1 } }));
    const again = await cluster.apply(daemonSet({ template: { two: 2, three: 3 } }, { labels: { a: '1' } }));
    expect(again).toMatchObject({ metadata: { uid: made.metadata.uid, generation: 2, labels: { a: '1' } }, status: { numberReady: 1 } });
    expect(again.spec).toEqual({ template: { two: 2, three: 3 } });
    expect(again.metadata.labels).toEqual({ a: '1' });
    expect((await cluster.apply(daemonSet({ template: { two: 2, three: 3 } }, { labels: { a: '1' } }))).metadata.resourceVersion).toBe(again.metadata.resourceVersion);
  });

  it('tells followers what concerns them; what loses its label is gone for them', async () => {
    const cluster = new MemoryCluster();
    const seen: string[] = [];
    const followed = cluster.follow(resources.daemonSets, { labelSelector: 'mine' });
    followed.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.name}`));
    await cluster.apply(daemonSet({}, { name: 'other' }));
    const { metadata } = await cluster.apply(daemonSet({}, { labels: { mine: '' } }));
    await cluster.apply(daemonSet({}));
    await cluster.apply(daemonSet({}, { labels: { mine: '' } }));
    await cluster.delete(resources.daemonSets, 'x', 'a', { uid: 'another' });
    expect(followed.get('x', 'a')).toBeDefined();
    await cluster.delete(resources.daemonSets, 'x', 'a', { uid: metadata.uid });
    expect(seen).toEqual(['ADDED a', 'DELETED a', 'ADDED a', 'DELETED a']);
    expect(followed.list()).toEqual([]);
  });

  it('keeps what has finalizers until they are taken off', async () => {
    const cluster = new MemoryCluster();
    await cluster.apply(daemonSet({}, { finalizers: ['a.io/b'] }));
    await cluster.delete(resources.daemonSets, 'x', 'a');
    expect((await cluster.get(resources.daemonSets, 'x', 'a'))?.metadata.deletionTimestamp).toBeDefined();
    cluster.change(resources.daemonSets, 'x', 'a', ({ metadata }) => void (metadata.finalizers = []));
    expect(await cluster.get(resources.daemonSets, 'x', 'a')).toBeUndefined();
  });
});
