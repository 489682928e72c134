import { describe, expect, it, jest } from '@jest/globals';
import type { Deps } from '../loop.ts';
import { settingsSchema } from '../settings.ts';
import { containersHappening, nodeHappening, nodeLifecycle, nodeStatusOf, type NodeBeat } from './node-lifecycle.ts';

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

  it('tells once when containers can no longer be run there, unless that was wanted', () => {
    const down = 'the Docker daemon at /var/run/docker.sock is not running: start it';
    const statusWith = (status: 'True' | 'False', reason: string, message: string): typeof first => ({ ...first, conditions: [...first.conditions!, { type: 'ContainersRunnable', status, reason, message }] });
    const up = statusWith('True', 'ContainerRuntimeIsUp', 'containers run on Docker');
    const dead = statusWith('False', 'ContainerRuntimeIsDown', down);
    const off = statusWith('False', 'NoContainerRuntime', 'no Docker daemon is set for this node');
    expect(containersHappening('n', up, dead)).toEqual(['Warning', 'ContainerRuntimeUnavailable', `Node n cannot run containers: ${down}`]);
    for (const [before, after] of [[undefined, dead], [dead, dead], [dead, up], [up, up], [up, off], [up, first], [first, dead]] as const) expect(containersHappening('n', before, after)).toBeUndefined();
    // Of its agent it says nothing.
    expect(nodeHappening('n', up, dead)).toBeUndefined();
  });

  it('is told of to people when its containers can no longer be run', async () => {
    let hear = (_beat: { payload: NodeBeat }): void => undefined;
    const beat = (status: string, message: string): NodeBeat => ({ ...nodeBeat, conditions: [...nodeBeat.conditions, { type: 'ContainersRunnable', status, reason: 'x', message }] } as NodeBeat);
    let stored = { metadata: { name: 'n' }, status: nodeStatusOf(undefined, beat('True', 'fine'), 10_000, now)! };
    const told: unknown[] = [];
    const deps = {
      bus: { health: () => ({ connected: true }), subscribe: async (_message: unknown, _params: unknown, handler: typeof hear) => { hear = handler; return { stop: () => undefined }; } },
      caches: { nodes: { get: () => stored, list: () => [stored] } },
      objects: { update: async (_of: unknown, node: unknown) => node, updateStatus: async (_of: unknown, _node: unknown, status: typeof first) => (stored = { ...stored, status }) },
      recorder: { from: () => (about: typeof stored, ...happening: string[]) => void told.push([about.metadata.name, ...happening]) },
      settings: settingsSchema.parse({}),
    } as unknown as Deps;
    const { wakes, reconcile } = nodeLifecycle(deps);
    const stop = await wakes[0]!(() => undefined);
    try {
      for (const one of [beat('True', 'fine'), beat('False', 'start it'), beat('False', 'start it'), beat('True', 'fine')]) {
        hear({ payload: one });
        await reconcile('n');
      }
      expect(told).toEqual([['n', 'Warning', 'ContainerRuntimeUnavailable', 'Node n cannot run containers: start it']]);
    } finally {
      await stop();
    }
  });

  it('is looked at when its agent has been silent for ten seconds, unless it is heard before', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    let hear = (_beat: { payload: NodeBeat }): void => undefined;
    const stored = { metadata: { name: 'n' }, status: first };
    const written: unknown[] = [];
    const deps = {
      bus: { health: () => ({ connected: true }), subscribe: async (_message: unknown, _params: unknown, handler: typeof hear) => { hear = handler; return { stop: () => undefined }; } },
      caches: { nodes: { get: () => stored, list: () => [stored] } },
      objects: { update: async (_of: unknown, node: unknown) => node, updateStatus: async (_of: unknown, _node: unknown, status: typeof first) => void written.push(ready(status)?.status) },
      recorder: { from: () => () => undefined },
      settings: settingsSchema.parse({}),
    } as unknown as Deps;
    const { wakes, reconcile } = nodeLifecycle(deps);
    const stop = await wakes[0]!(() => undefined);
    const at = (ms: number): unknown => {
      clock.mockReturnValue(ms);
      return reconcile('n');
    };
    try {
      hear({ payload: nodeBeat });
      expect(await at(0)).toEqual({ againAfterMs: 10_000 });
      // No longer between two looks than a process that is held up.
      for (const ms of [2_000, 4_000, 6_000, 8_000]) expect(await at(ms)).toEqual({ againAfterMs: 10_000 - ms });
      hear({ payload: nodeBeat });
      for (const ms of [10_000, 12_000, 14_000, 16_000, 17_999]) expect(await at(ms)).toEqual({ againAfterMs: 18_000 - ms });
      expect(written).not.toContain('Unknown');
      expect(await at(18_000)).toBeUndefined();
      expect(written.at(-1)).toBe('Unknown');
    } finally {
      await stop();
      clock.mockRestore();
    }
  });

  it('is not made again from what its agent said before it was deleted, but by what it says then', async () => {
    let hear = (_beat: { payload: NodeBeat }): void => undefined;
    let change = (_seen: unknown): void => undefined;
    let stored: object | undefined = { metadata: { name: 'n' }, status: first };
    const created: unknown[] = [];
    const woken: string[] = [];
    const deps = {
      bus: { health: () => ({ connected: true }), subscribe: async (_message: unknown, _params: unknown, handler: typeof hear) => { hear = handler; return { stop: () => undefined }; } },
      caches: { nodes: { get: () => stored, list: () => (stored === undefined ? [] : [stored]), onChange: (handler: typeof change) => { change = handler; return () => undefined; } } },
      objects: { create: async (_of: unknown, node: unknown) => { created.push(node); return node; }, update: async (_of: unknown, node: unknown) => node, updateStatus: async (_of: unknown, node: unknown) => node },
      recorder: { from: () => () => undefined },
      settings: settingsSchema.parse({}),
    } as unknown as Deps;
    const { wakes, reconcile } = nodeLifecycle(deps);
    const stops = await Promise.all(wakes.map((wake) => wake((key) => void woken.push(key))));
    try {
      hear({ payload: nodeBeat });
      await reconcile('n');
      const gone = stored;
      stored = undefined;
      change({ type: 'DELETED', object: gone });
      expect(woken.splice(0)).toContain('n');
      await reconcile('n');
      expect(created).toEqual([]);
      hear({ payload: nodeBeat });
      expect(woken).toEqual(['n']);
      await reconcile('n');
      expect(created).toEqual([expect.objectContaining({ kind: 'Node', metadata: expect.objectContaining({ name: 'n' }) })]);
    } finally {
      for (const stop of stops) await stop();
    }
  });
});
