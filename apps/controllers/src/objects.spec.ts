import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { ServiceError, type Bus, type Write } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import { NotLeading, Objects } from './objects.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '7' }, spec: {}, status: { phase: 'Running' } } as unknown as KubeObject;

describe('writes of the controllers', () => {
  const asked: Write[] = [];
  const observed: KubeObject[] = [];
  let refusal: Error | undefined;
  const bus = {
    request: (_message: unknown, _at: unknown, write: Write) => {
      asked.push(write);
      return refusal === undefined ? Promise.resolve({ object: { ...pod, metadata: { ...pod.metadata, resourceVersion: '8' } } }) : Promise.reject(refusal);
    },
  } as unknown as Bus;
  const cache = { resource: 'pods', observe: (object: KubeObject) => void observed.push(object) } as unknown as Informer;
  let objects: Objects;
  beforeEach(() => {
    asked.length = 0;
    observed.length = 0;
    refusal = undefined;
    objects = new Objects(bus);
  });

  it('change nothing when a status is so already', async () => {
    expect(await objects.updateStatus(cache, pod, { phase: 'Running' })).toBe(pod);
    expect(asked).toEqual([]);
    await objects.updateStatus(cache, pod, { phase: 'Failed' }, { exact: true });
    expect(asked).toMatchObject([{ operation: 'updateStatus', object: { metadata: { uid: 'u', resourceVersion: '7' }, status: { phase: 'Failed' } } }]);
    expect(observed).toHaveLength(1);
  });

  it('count a deleted object as on its way out before the news comes', async () => {
    expect(await objects.delete(cache, pod, { gracePeriodSeconds: 0 })).toBe(true);
    expect(asked).toMatchObject([{ operation: 'delete', name: 'p', namespace: 'default', preconditions: { uid: 'u' }, gracePeriodSeconds: 0 }]);
    expect(observed[0]?.metadata.deletionTimestamp).toMatch(/Z$/);
    refusal = new ServiceError(404, 'pods "p" not found');
    expect(await objects.delete(cache, pod)).toBe(false);
  });

  it('end with the term', async () => {
    objects.end();
    await expect(objects.create(cache, pod)).rejects.toThrow(NotLeading);
    await expect(objects.delete(cache, pod)).rejects.toThrow(NotLeading);
    expect(asked).toEqual([]);
  });
});
