import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { Follower, Following } from './feed.ts';
import { Informer, type Seen } from './informer.ts';

const object = (name: string, version: number, extra: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: String(version), generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', ...extra },
  spec: {},
});
const change = (type: Change['type'], of: KubeObject): Change => {
  const version = Number(of.metadata.resourceVersion);
  return { type, version, previous: version - 1, previousOfResource: version - 1, resource: 'configmaps', namespace: 'default', name: of.metadata.name, uid: of.metadata.uid, object: of as unknown as Change['object'] };
};

/** A store that can be listed, and a feed driven by hand. */
class World {
  items: KubeObject[] = [];
  version = 0;
  listErrors = 0;
  follower: Follower | undefined;
  position = 0;
  readonly source = {
    list: async () => {
      if (this.listErrors-- > 0) throw new Error('database is away');
      return { version: this.version, items: [...this.items] };
    },
    changes: async () => ({ head: this.version, changes: [], more: false }),
  };
  readonly feed = {
    follow: (follower: Follower): Following => {
      this.follower = follower;
      this.position = follower.since;
      return Object.defineProperty({ position: 0, stop: () => undefined }, 'position', { get: () => this.position });
    },
  };
  send(...changes: Change[]): void {
    for (const one of changes) {
      this.position = one.version;
      this.follower?.change(one);
    }
  }
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const started = async (world: World): Promise<{ informer: Informer; seen: string[] }> => {
  const informer = new Informer({ source: world.source, feed: world.feed, resource: 'configmaps', labels: ['app'] });
  const seen: string[] = [];
  informer.onChange(({ type, object: { metadata } }: Seen<KubeObject>) => seen.push(`${type} ${metadata.name}@${metadata.resourceVersion}`));
  await informer.start();
  return { informer, seen };
};

describe('informer', () => {
  it('lists, follows, and keeps its indexes', async () => {
    const world = new World();
    world.version = 5;
    world.items = [object('a', 3, { labels: { app: 'x' }, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'owner' }] }), object('b', 5)];
    const { informer, seen } = await started(world);
    expect(informer.byOwner('owner').map(({ metadata }) => metadata.name)).toEqual(['a']);
    world.send(change('MODIFIED', object('a', 6, { labels: { app: 'y' } })), change('ADDED', object('c', 7, { labels: { app: 'y' } })), change('DELETED', object('b', 8)));
    expect(informer.byOwner('owner')).toEqual([]);
    expect(informer.byLabel('app', 'x')).toEqual([]);
    expect(informer.byLabel('app', 'y').map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(informer.get('default', 'b')).toBeUndefined();
    expect(informer.byUid('uid-c')?.metadata.resourceVersion).toBe('7');
    expect(seen).toEqual(['ADDED a@3', 'ADDED b@5', 'MODIFIED a@6', 'ADDED c@7', 'DELETED b@8']);
  });

  it('lists again when changes were lost, telling what it had missed, deletions too', async () => {
    const world = new World();
    world.version = 2;
    world.items = [object('a', 1), object('b', 2)];
    const { informer, seen } = await started(world);
    seen.length = 0;
    world.version = 9;
    world.items = [object('b', 8), object('c', 9)];
    world.follower?.relist('trimmed');
    expect(informer.problem()).toContain('listing again: trimmed');
    await settle();
    expect(seen).toEqual(['DELETED a@1', 'MODIFIED b@8', 'ADDED c@9']);
    expect(informer.problem()).toBeUndefined();
    expect(world.follower?.since).toBe(9);
  });

  it('tells a deletion when a name came back under another uid', async () => {
    const world = new World();
    world.items = [object('a', 1)];
    const { seen } = await started(world);
    world.send(change('ADDED', object('a', 4, { uid: 'another' })));
    expect(seen).toEqual(['ADDED a@1', 'DELETED a@1', 'ADDED a@4']);
  });

  it('takes over the answer to its own write, but not when the feed has said more already', async () => {
    const world = new World();
    const { informer, seen } = await started(world);
    informer.observe(object('a', 1));
    world.send(change('ADDED', object('a', 1)), change('DELETED', object('a', 2)));
    informer.observe(object('a', 1));
    expect(informer.get('default', 'a')).toBeUndefined();
    expect(seen).toEqual(['ADDED a@1', 'DELETED a@2']);
  });

  it('keeps its own write over an older list', async () => {
    const world = new World();
    world.version = 3;
    const { informer } = await started(world);
    informer.observe(object('mine', 5));
    world.version = 4;
    world.follower?.relist('trimmed');
    await settle();
    expect(informer.get('default', 'mine')).toBeDefined();
  });

  it('holds what a database that was put back holds, though everything in it is older', async () => {
    const world = new World();
    world.version = 2;
    world.items = [object('a', 1), object('b', 2)];
    const { informer, seen } = await started(world);
    world.send(change('MODIFIED', object('a', 7, { labels: { app: 'x' } })), change('ADDED', object('c', 8)));
    seen.length = 0;
    world.version = 3;
    world.items = [object('a', 3), object('b', 2)];
    world.follower?.relist('the database was replaced');
    await settle();
    expect(informer.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)).toEqual(['a@3', 'b@2']);
    expect(informer.byLabel('app', 'x')).toEqual([]);
    expect(seen).toContain('DELETED c@8');
    expect(world.follower?.since).toBe(3);
  });

  it('has indexes of its user, which follow the objects', async () => {
    const world = new World();
    world.items = [object('a', 1)];
    const informer = new Informer({ source: world.source, feed: world.feed, resource: 'configmaps', indexes: { colour: ({ metadata }) => metadata.annotations?.['colour'] } });
    await informer.start();
    world.send(change('MODIFIED', object('a', 2, { annotations: { colour: 'red' } })));
    expect(informer.by('colour', 'red').map(({ metadata }) => metadata.name)).toEqual(['a']);
    world.send(change('MODIFIED', object('a', 3, { annotations: { colour: 'blue' } })));
    expect([informer.by('colour', 'red'), informer.by('colour', 'blue').length]).toEqual([[], 1]);
    expect(() => informer.by('size', '1')).toThrow('no index size');
  });

  it('forgets what it took over from the answer to a deletion when the news of it comes', async () => {
    const world = new World();
    world.version = 1;
    world.items = [object('a', 1)];
    const { informer, seen } = await started(world);
    const going = object('a', 2, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    informer.observe(going);
    expect(informer.get('default', 'a')?.metadata.deletionTimestamp).toBeDefined();
    world.send(change('DELETED', object('a', 2)));
    expect(informer.size).toBe(0);
    // An answer that comes after the news brings nothing back.
    informer.observe(going);
    expect(informer.size).toBe(0);
    expect(seen).toEqual(['ADDED a@1', 'MODIFIED a@2', 'DELETED a@2']);
  });

  it('says how far it is', async () => {
    const world = new World();
    world.version = 4;
    const { informer } = await started(world);
    expect(informer.position).toBe(4);
    world.send(change('ADDED', object('a', 6)));
    expect(informer.position).toBe(6);
  });

  it('tries until the first list succeeds', async () => {
    const world = new World();
    world.listErrors = 2;
    world.items = [object('a', 1)];
    const { informer } = await started(world);
    expect(informer.size).toBe(1);
  });
});
