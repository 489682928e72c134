import { expect, it } from '@jest/globals';
import { info, nodeWith, scored } from '../testing/objects.ts';
import { preferredNodeAffinity } from './node-affinity.ts';

const prefer = (weight: number, key: string) => ({ weight, preference: { matchExpressions: [{ key, operator: 'Exists' }] } });

it('adds the weights of the wishes that a node fits, the best node has 100', () => {
  const asked = info('p', { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [prefer(80, 'ssd'), prefer(20, 'gpu')] } } });
  const nodes = [nodeWith('a', [], { labels: { ssd: '' } }), nodeWith('b', [], { labels: { gpu: '' } }), nodeWith('c')];
  expect(scored(preferredNodeAffinity, asked, nodes)).toEqual([100, 25, 0]);
  expect(scored(preferredNodeAffinity, asked, [nodeWith('c')])).toBeUndefined();
  expect(scored(preferredNodeAffinity, info('p'), nodes)).toBeUndefined();
});
