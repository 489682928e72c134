import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import type { Caches } from '../caches.ts';
import { ownerState, type OwnerState } from './owners.ts';

const owner = (more: object = {}): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'shop', uid: 'u', ...more }, spec: {} }) as unknown as KubeObject;
const state = ({ cached, stored, namespace = 'shop', reference = {} }: { cached?: KubeObject; stored?: KubeObject; namespace?: string | null; reference?: object }): Promise<OwnerState> => {
  const caches = { all: new Map([['configmaps', { byUid: () => cached }]]), stored: () => Promise.resolve(stored) } as unknown as Caches;
  const dependent = { metadata: namespace === null ? {} : { namespace } } as KubeObject;
  return ownerState(caches, dependent, { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u', ...reference });
};

describe('an owner', () => {
  it('is gone only when the store itself does not have it', async () => {
    expect(await state({ cached: owner() })).toBe('solid');
    expect(await state({ stored: owner() })).toBe('solid');
    expect(await state({})).toBe('absent');
    expect(await state({ stored: owner({ uid: 'another' }) })).toBe('absent');
  });

  it('waits for its dependents, in the cache and in the store', async () => {
    const waiting = owner({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] });
    expect(await state({ cached: waiting })).toBe('waiting');
    expect(await state({ stored: waiting })).toBe('waiting');
    expect(await state({ cached: owner({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other'] }) })).toBe('solid');
  });

  it('of a kind that nobody knows or stores is left alone; of another namespace it is none', async () => {
    expect(await state({ reference: { apiVersion: 'example.com/v1', kind: 'Widget' } })).toBe('solid');
    expect(await state({ reference: { apiVersion: 'v2', kind: 'ConfigMap' } })).toBe('solid');
    expect(await state({ reference: { apiVersion: 'roundsman.io/v1', kind: 'Report' } })).toBe('solid');
    expect(await state({ cached: owner({ namespace: 'elsewhere' }) })).toBe('elsewhere');
    expect(await state({ cached: owner(), namespace: null })).toBe('impossible');
  });
});
