import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { podConditionOf, type Node, type Pod, type PodStatus } from '@roundsman/api';
import type { Deps } from '../loop.ts';
import { lostPods } from './lost-pods.ts';

const nodeOf = (ready: string, since: string): Node => ({ metadata: { name: 'n', uid: 'node' }, status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: since }] } }) as unknown as Node;
const readyPod = { metadata: { name: 'p', namespace: 'default', uid: 'pod' }, spec: { nodeName: 'n' }, status: { conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: 't' }] } } as unknown as Pod;

let node: Node;
let pod: Pod;
const told: string[] = [];
let look: () => Promise<unknown>;
const ready = (): string => `${podConditionOf(pod, 'Ready')?.status} ${podConditionOf(pod, 'Ready')?.reason ?? ''}`.trim();
beforeEach(() => {
  jest.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  node = nodeOf('Unknown', '2026-01-01T00:00:00Z');
  pod = readyPod;
  told.length = 0;
  const { reconcile } = lostPods({
    caches: { nodes: { get: () => node }, pods: { by: () => [pod] } },
    objects: { updateStatus: async (_cache: unknown, _pod: Pod, status: PodStatus) => void (pod = { ...pod, status }) },
    recorder: { from: () => (_pod: Pod, _type: string, reason: string) => void told.push(reason) },
  } as unknown as Deps);
  look = async () => reconcile('/n');
});
afterEach(() => void jest.useRealTimers());

it('a pod of a node that is lost is not ready, and is told of once', async () => {
  expect(await look()).toBeUndefined();
  expect(await look()).toBeUndefined();
  expect([ready(), told]).toEqual(['False NodeLost', ['NodeNotReady']]);
});

it('one that its agent tells of before the node is heard again is not lost a second time, unless the node stays silent', async () => {
  await look();
  pod = readyPod;
  expect(await look()).toEqual({ againAfterMs: 1_000 });
  jest.advanceTimersByTime(999);
  expect(await look()).toEqual({ againAfterMs: 1_000 });
  expect(ready()).toBe('True');
  node = nodeOf('True', '2026-01-01T00:00:01Z');
  jest.advanceTimersByTime(1);
  expect(await look()).toBeUndefined();
  expect(ready()).toBe('True');
  // Lost again, at once.
  node = nodeOf('Unknown', '2026-01-01T00:00:09Z');
  await look();
  expect(ready()).toBe('False NodeLost');
  pod = readyPod;
  await look();
  jest.advanceTimersByTime(1_000);
  await look();
  expect([ready(), told]).toEqual(['False NodeLost', ['NodeNotReady', 'NodeNotReady', 'NodeNotReady']]);
});
