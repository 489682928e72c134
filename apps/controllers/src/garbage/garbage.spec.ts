import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { TestCluster } from '../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  cluster.nodes.join('n1');
});
afterAll(() => cluster.stop());

const config = 'configmaps';
type Owner = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;
const reference = ({ apiVersion, kind, metadata: { name, uid } }: Owner, more: object = {}) => ({ apiVersion, kind, name, uid, ...more });
let round = 0;
beforeEach(() => void (round += 1));
/** A ConfigMap; names differ between tests. */
const make = (name: string, owners: object[] = [], more: object = {}): Promise<KubeObject> =>
  cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-${round}`, ...(owners.length === 0 ? {} : { ownerReferences: owners }), ...more } });
const there = (name: string): Promise<KubeObject | undefined> => cluster.get(config, `${name}-${round}`);
const gone = (...names: string[]): Promise<void> =>
  cluster.until(async () => {
    for (const name of names) expect(await there(name)).toBeUndefined();
  });
const remove = (name: string, propagationPolicy?: 'Orphan' | 'Foreground'): Promise<void> => cluster.delete(config, `${name}-${round}`, propagationPolicy === undefined ? {} : { propagationPolicy });
/** Waits until the collector has judged what was written before. */
const settled = async (): Promise<void> => {
  const owner = await make('marker-owner');
  await make('marker', [reference(owner)]);
  await remove('marker-owner');
  await gone('marker');
};

describe('garbage collection', () => {
  it('removes what an owner leaves behind, and what that owned', async () => {
    const owner = await make('owner');
    const child = await make('child', [reference(owner)]);
    await make('grandchild', [reference(child)]);
    await remove('owner');
    await gone('owner', 'child', 'grandchild');
  });

  it('keeps what another owner still needs, and forgets the one that is gone', async () => {
    const [a, b] = [await make('a'), await make('b')];
    await make('shared', [reference(a), reference(b)]);
    await remove('a');
    await cluster.until(async () => expect((await there('shared'))?.metadata.ownerReferences).toEqual([reference(b)]));
    await remove('b');
    await gone('shared');
  });

  it('goes by uid: one of the same name is no owner', async () => {
    const owner = await make('owner');
    await make('child', [{ ...reference(owner), uid: '11111111-2222-3333-4444-555555555555' }]);
    await gone('child');
    expect(await there('owner')).toBeDefined();
  });

  it('leaves alone what is owned by kinds that it does not know or that are not stored', async () => {
    await make('of-stranger', [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'u1' }]);
    await make('of-virtual', [{ apiVersion: 'roundsman.io/v1', kind: 'Report', name: 'r', uid: 'u2' }]);
    await settled();
    expect(await there('of-stranger')).toBeDefined();
    expect(await there('of-virtual')).toBeDefined();
  });

  it('makes an owner that is deleted in the foreground wait for those that block it', async () => {
    const owner = await make('owner');
    const child = await make('child', [reference(owner, { blockOwnerDeletion: true })], { finalizers: ['example.com/hold'] });
    await make('loose', [reference(owner)]);
    await make('grandchild', [reference(child, { blockOwnerDeletion: true })]);
    await remove('owner', 'Foreground');
    await gone('grandchild', 'loose');
    await cluster.until(async () => expect((await there('child'))?.metadata).toMatchObject({ deletionTimestamp: expect.any(String), finalizers: ['example.com/hold'] }));
    expect((await there('owner'))?.metadata.finalizers).toEqual(['foregroundDeletion']);
    await cluster.edit(config, `child-${round}`, ({ metadata }) => void (metadata.finalizers = []));
    await gone('child', 'owner');
  });

  it('frees the dependents of an owner that is deleted as orphans', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner, { controller: true })]);
    await remove('owner', 'Orphan');
    await gone('owner');
    expect((await there('child'))?.metadata.ownerReferences ?? []).toEqual([]);
    await settled();
    expect(await there('child')).toBeDefined();
  });

  it('counts an owner in another namespace as absent, and says so', async () => {
    const owner = await make('owner');
    const namespace = `other-${round}`;
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const child = await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'child', namespace, ownerReferences: [reference(owner)] } });
    await cluster.until(async () => {
      expect(await cluster.get(config, 'child', namespace)).toBeUndefined();
      expect(await cluster.events(child)).toEqual([expect.stringMatching(/^OwnerRefInvalidNamespace: ownerRef \[v1\/ConfigMap, .*\] does not exist in namespace "other-/)]);
    });
  });

  it('takes two that own each other when nothing else holds them', async () => {
    const root = await make('root');
    const a = await make('a', [reference(root, { blockOwnerDeletion: true })]);
    const b = await make('b', [reference(a, { blockOwnerDeletion: true })]);
    await cluster.edit(config, `a-${round}`, ({ metadata }) => void (metadata.ownerReferences = [reference(root, { blockOwnerDeletion: true }), reference(b, { blockOwnerDeletion: true })]));
    await remove('root', 'Foreground');
    await cluster.until(async () => expect((await there('a'))?.metadata.ownerReferences?.some(({ uid }) => uid === root.metadata.uid) ?? false).toBe(false));
    await gone('root');
  });

  it('removes at the start what lost its owner while nobody looked', async () => {
    const owner = await make('owner');
    await make('child', [reference(owner)]);
    await cluster.stopControllers();
    await remove('owner');
    await cluster.startControllers();
    await gone('child');
  });
});
