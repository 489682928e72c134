import { expect, it } from '@jest/globals';
import { info, nodeWith, scored } from '../testing/objects.ts';
import { balancedAllocation } from './balanced-allocation.ts';

it('is best where cpu and memory would be used alike', () => {
  const hungry = info('hungry', { requests: { memory: '4Gi' } });
  const asked = info('p', { requests: { cpu: '2' } });
  expect(scored(balancedAllocation, asked, [nodeWith('memory is used', [hungry]), nodeWith('empty'), nodeWith('full', [], { allocatable: { cpu: '1' } })])).toEqual([100, 75, 50]);
});
