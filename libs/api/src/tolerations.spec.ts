import { describe, expect, it } from '@jest/globals';
import type { Toleration } from './kinds/pod/placement.ts';
import { tolerates } from './tolerations.ts';

const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' } as const;

describe('a taint', () => {
  const cases: readonly [tolerated: boolean, toleration: Toleration][] = [
    [true, { key: 'gpu', operator: 'Exists' }],
    [true, { operator: 'Exists' }],
    [true, { key: 'gpu', value: 'yes' }],
    [true, { key: 'gpu', operator: 'Equal', value: 'yes', effect: 'NoSchedule' }],
    // As some clients send it.
    [true, { key: 'gpu', operator: '', value: 'yes', effect: '' }],
    [false, { key: 'gpu', value: 'no' }],
    [false, { key: 'gpu' }],
    [false, { key: 'cpu', operator: 'Exists' }],
    [false, { key: 'gpu', operator: 'Exists', effect: 'NoExecute' }],
    [false, {}],
  ];
  it.each(cases)('is tolerated: %s by %j', (tolerated, toleration) => expect(tolerates(toleration, taint)).toBe(tolerated));
  it('without a value is that of the empty value', () => expect(tolerates({ key: 'gpu' }, { key: 'gpu', effect: 'NoExecute' })).toBe(true));
});
