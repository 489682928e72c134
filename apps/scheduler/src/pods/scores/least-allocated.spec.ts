import { expect, it } from '@jest/globals';
import { info, nodeWith, scored } from '../testing/objects.ts';
import { leastAllocated } from './least-allocated.ts';

it('is the mean of what would be left of cpu and memory, in percent', () => {
  const half = info('half', { requests: { cpu: '2', memory: '4Gi' } });
  expect(scored(leastAllocated, info('p', { requests: { cpu: '1', memory: '1Gi' } }), [nodeWith('empty'), nodeWith('half', [half]), nodeWith('small', [], { allocatable: { cpu: '1', memory: '1Gi' } })])).toEqual([81, 31, 0]);
});

it('counts a pod that asks for nothing as 100m and 200Mi, so that many of them do not all go to one node', () => {
  const [empty = 0, one = 0] = scored(leastAllocated, info('p'), [nodeWith('empty'), nodeWith('one', [info('there')])]) ?? [];
  expect(empty).toBeGreaterThan(one);
});
