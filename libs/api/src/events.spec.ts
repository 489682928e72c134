import { describe, expect, it } from '@jest/globals';
import { eventAgain, eventName, eventObject, SimilarEvents } from './events.ts';
import { event } from './kinds/event.ts';
import type { KubeObject } from './meta.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' } } as KubeObject;
const parts = { name: 'web.1', about: pod, type: 'Warning', reason: 'Unhealthy', message: 'no', component: 'kubelet', firstMs: 1_000, lastMs: 61_900, count: 3 } as const;

describe('events', () => {
  it('are valid objects in the namespace of what they are about', () => {
    const made = eventObject({ ...parts, host: 'n1', fieldPath: 'spec.containers{web}' });
    expect(event.schema.safeParse(made).success).toBe(true);
    expect(made).toMatchObject({
      metadata: { name: 'web.1', namespace: 'shop' },
      involvedObject: { kind: 'Pod', namespace: 'shop', uid: 'u1', resourceVersion: '7', fieldPath: 'spec.containers{web}' },
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '1970-01-01T00:00:01Z',
      lastTimestamp: '1970-01-01T00:01:01Z',
    });
    const { namespace: _, ...metadata } = pod.metadata;
    expect(eventObject({ ...parts, about: { ...pod, kind: 'Node', metadata } })).toMatchObject({ metadata: { namespace: 'default' }, involvedObject: expect.not.objectContaining({ namespace: expect.anything() }) });
  });

  it('count, and tell the last message', () => {
    const again = eventAgain(eventObject(parts), 'x'.repeat(2_000), 2, 120_000);
    expect(again).toMatchObject({ count: 5, firstTimestamp: '1970-01-01T00:00:01Z', lastTimestamp: '1970-01-01T00:02:00Z' });
    expect(again.message).toHaveLength(1_024);
  });

  it('have valid names however long and odd the name of the object is', () => {
    expect(eventName(`${'a'.repeat(179)}.b`, 'f')).toBe(`${'a'.repeat(179)}.f`);
  });
});

describe('similar events', () => {
  const told = (similar: SimilarEvents, uid: string, count: number, nowMs = 0): string[] => Array.from({ length: count }, (_, i) => similar.combine(uid, 'Created', `pod ${i}`, nowMs).key);

  it('are one by one up to ten, and one from then on; what was told before is told as before', () => {
    const similar = new SimilarEvents();
    expect(new Set(told(similar, 'u1', 40)).size).toBe(11);
    expect(similar.combine('u1', 'Created', 'pod 39', 0).message).toBe('(combined from similar events): pod 39');
    expect(similar.combine('u1', 'Created', 'pod 3', 0)).toEqual({ key: 'pod 3', message: 'pod 3' });
    expect(similar.combine('u1', 'Deleted', 'pod 39', 0).key).toBe('pod 39');
  });

  it('count anew after ten quiet minutes, and when too many others came between', () => {
    const similar = new SimilarEvents(2);
    told(similar, 'u1', 11);
    expect(similar.combine('u1', 'Created', 'new', 600_000).key).toBe('new');
    told(similar, 'u1', 11, 600_000);
    told(similar, 'u2', 1, 600_000);
    told(similar, 'u3', 1, 600_000);
    expect(similar.combine('u1', 'Created', 'newer', 600_000).key).toBe('newer');
  });
});
