import { describe, expect, it } from '@jest/globals';
import type { Pod } from './kinds/pod/schema.ts';
import { isPodActive, isPodAvailable, isPodEnded, isPodReady, podConditionOf } from './pod-state.ts';

const now = Date.parse('2026-01-02T03:04:05Z');
const pod = (status: Pod['status'], metadata: object = {}): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {}, status }) as unknown as Pod;
const ready = (status: 'True' | 'False', lastTransitionTime: string | null = '2026-01-02T03:04:00Z'): Pod => pod({ phase: 'Running', conditions: [{ type: 'Ready', status, lastTransitionTime }] });

describe('a pod', () => {
  it('is ready when its condition says so', () => {
    expect([isPodReady(ready('True')), isPodReady(ready('False')), isPodReady(pod({})), isPodReady(pod(undefined))]).toEqual([true, false, false, false]);
    expect(podConditionOf(ready('True'), 'Initialized')).toBeUndefined();
  });
  it('is available when it has been ready for long enough', () => {
    expect(isPodAvailable(ready('True'), 0, now)).toBe(true);
    expect(isPodAvailable(ready('True'), 5, now)).toBe(true);
    expect(isPodAvailable(ready('True'), 6, now)).toBe(false);
    expect(isPodAvailable(ready('True', null), 0, now)).toBe(true);
    expect(isPodAvailable(ready('True', null), 1, now)).toBe(false);
    expect(isPodAvailable(ready('False'), 0, now)).toBe(false);
  });
  it('counts while it has not ended and need not end', () => {
    expect(isPodActive(pod({ phase: 'Pending' }))).toBe(true);
    expect(isPodActive(pod({ phase: 'Failed' }))).toBe(false);
    expect(isPodActive(pod({ phase: 'Running' }, { deletionTimestamp: '2026-01-02T03:04:05Z' }))).toBe(false);
    expect(isPodEnded(pod({ phase: 'Succeeded' }))).toBe(true);
  });
});
