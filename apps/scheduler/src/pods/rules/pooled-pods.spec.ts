import { describe, expect, it } from '@jest/globals';
import type { Service } from '@roundsman/api';
import { pooled } from './pooled-pods.ts';

const service = (selector?: Record<string, string>): Service => ({ spec: { selector } }) as unknown as Service;
const labels = { app: 'web', tier: 'front', version: '2' };

describe('pods that do the same', () => {
  it('are those of all services that choose the pod, and of its owner', () => {
    const all = pooled(labels, [service({ app: 'web' }), service({ tier: 'front' }), service({ app: 'db' }), service()], { matchLabels: { version: '2' }, matchExpressions: [{ key: 'canary', operator: 'DoesNotExist' }] });
    expect(all?.(labels)).toBe(true);
    for (const other of [{ ...labels, app: 'db' }, { ...labels, tier: 'back' }, { ...labels, version: '1' }, { ...labels, canary: 'yes' }]) expect(all?.(other)).toBe(false);
  });
  it('are also those of a service alone, or of an owner alone', () => {
    expect(pooled(labels, [service({ app: 'web' })], undefined)?.({ app: 'web' })).toBe(true);
    expect(pooled(labels, [], { matchLabels: { app: 'web' } })?.({ app: 'web' })).toBe(true);
  });
  it('are nobody where nobody chooses it', () => expect(pooled(labels, [service({ app: 'db' }), service({})], undefined)).toBeUndefined());
});
