import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Node, Pod } from '@roundsman/api';
import type { Deps } from '../loop.ts';
import { podGarbage, surplusEnded } from './pod-garbage.ts';

const start = Date.UTC(2026, 0, 1);
interface Draft {
  node?: string;
  phase?: string;
  reason?: string;
  age?: number;
  deleted?: boolean;
}
const podOf = (name: string, { node, phase = 'Running', reason, age = 10, deleted = false }: Draft = {}): Pod =>
  ({
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: new Date(start - age * 1000).toISOString(), ...(deleted ? { deletionTimestamp: new Date(start).toISOString() } : {}) },
    spec: node === undefined ? {} : { nodeName: node },
    status: { phase, reason },
  }) as unknown as Pod;

/** A world in memory: what is deleted is gone. */
class World {
  pods: Pod[] = [];
  nodes: Node[] = [];
  /** Nodes that are stored but not in the cache yet. */
  stored: string[] = [];
  readonly deleted: string[] = [];
  readonly told: string[] = [];
  readonly loop = podGarbage({
    caches: {
      pods: { list: () => this.pods, by: (_index: string, node: string) => this.pods.filter(({ spec }) => spec.nodeName === node) },
      nodes: { get: (_namespace: undefined, name: string) => this.nodes.find(({ metadata }) => metadata.name === name) },
      stored: (_resource: string, _namespace: undefined, name: string) => Promise.resolve(this.stored.includes(name) ? {} : undefined),
    },
    objects: {
      updateStatus: (_cache: unknown, { metadata }: Pod, { phase, conditions }: NonNullable<Pod['status']>) => Promise.resolve(this.told.push(`${metadata.name}: ${phase}, ${conditions?.[0]?.reason}, ${conditions?.[0]?.message}`)),
      delete: (_cache: unknown, { metadata }: Pod, { gracePeriodSeconds }: { gracePeriodSeconds: number }) => {
        this.pods = this.pods.filter((pod) => pod.metadata.name !== metadata.name);
        return Promise.resolve(this.deleted.push(`${metadata.name}/${gracePeriodSeconds}`));
      },
    },
    log: { info: () => undefined },
    settings: { endedPodsKept: 2 },
  } as unknown as Deps);
  node(name: string, ready: string, taints: object[] = []): void {
    this.nodes.push({ metadata: { name }, spec: { taints }, status: { conditions: [{ type: 'Ready', status: ready }] } } as unknown as Node);
  }
  async pass(): Promise<string[]> {
    await this.loop.reconcile('pods');
    return this.deleted.splice(0);
  }
}

describe('pods nobody else removes', () => {
  let world: World;
  beforeEach(() => {
    jest.useFakeTimers({ now: start });
    world = new World();
  });
  afterEach(() => void jest.useRealTimers());
  const later = (seconds: number): void => void jest.setSystemTime(Date.now() + seconds * 1000);

  it('go when their node has been gone for a while, and not before', async () => {
    world.node('there', 'True');
    world.pods = [podOf('a', { node: 'there' }), podOf('b', { node: 'away' }), podOf('c', { node: 'away', phase: 'Succeeded' }), podOf('unbound')];
    expect(await world.pass()).toEqual([]);
    later(39);
    expect(await world.pass()).toEqual([]);
    later(1);
    expect(await world.pass()).toEqual(['b/0', 'c/0']);
    expect(world.told).toEqual(['b: Failed, DeletionByPodGC, PodGC: node no longer exists']);
  });

  it('stay when their node came back meanwhile, or is stored and only not seen yet', async () => {
    world.pods = [podOf('a', { node: 'n' })];
    await world.pass();
    later(30);
    world.node('n', 'True');
    await world.pass();
    world.nodes = [];
    later(30);
    expect(await world.pass()).toEqual([]);
    world.stored = ['n'];
    later(60);
    expect(await world.pass()).toEqual([]);
  });

  it('are left to lost nodes, unless these are out of service', async () => {
    const outOfService = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    world.node('lost', 'Unknown');
    world.node('out', 'Unknown', outOfService);
    world.node('well', 'True', outOfService);
    world.pods = [podOf('a', { node: 'lost', deleted: true }), podOf('b', { node: 'out', deleted: true }), podOf('c', { node: 'out' }), podOf('d', { node: 'well', deleted: true })];
    later(600);
    expect(await world.pass()).toEqual(['b/0']);
  });

  it('go when they were deleted before they had a node', async () => {
    world.pods = [podOf('a', { deleted: true, phase: 'Pending' }), podOf('b', { phase: 'Pending' })];
    expect(await world.pass()).toEqual(['a/0']);
  });

  it('are the evicted and then the oldest of those that have ended, beyond what is kept', async () => {
    world.node('n', 'True');
    world.pods = [podOf('young', { node: 'n', phase: 'Failed', age: 1 }), podOf('old', { node: 'n', phase: 'Succeeded', age: 9 }), podOf('evicted', { node: 'n', phase: 'Failed', reason: 'Evicted', age: 5 }), podOf('running', { node: 'n', age: 99 })];
    expect(await world.pass()).toEqual(['evicted/0']);
    expect(await world.pass()).toEqual([]);
    expect(surplusEnded(world.pods, 0).map(({ metadata }) => metadata.name)).toEqual(['old', 'young']);
  });
});
