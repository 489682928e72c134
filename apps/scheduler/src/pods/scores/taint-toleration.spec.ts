import { expect, it } from '@jest/globals';
import type { Taint } from '@roundsman/api';
import { info, nodeWith, scored } from '../testing/objects.ts';
import { preferredTaints } from './taint-toleration.ts';

const taints = (...keys: string[]): { taints: Taint[] } => ({ taints: keys.map((key) => ({ key, effect: 'PreferNoSchedule' })) });

it('is less the more taints a node has that only prefer, unless they are tolerated', () => {
  const nodes = [nodeWith('a'), nodeWith('b', [], taints('x')), nodeWith('c', [], taints('x', 'y'))];
  expect(scored(preferredTaints, info('p'), nodes)).toEqual([100, 50, 0]);
  expect(scored(preferredTaints, info('p', { tolerations: [{ key: 'x', operator: 'Exists' }] }), nodes)).toEqual([100, 100, 0]);
  expect(scored(preferredTaints, info('p', { tolerations: [{ key: 'x', operator: 'Exists', effect: 'NoSchedule' }] }), nodes)).toEqual([100, 50, 0]);
  expect(scored(preferredTaints, info('p'), [nodeWith('a')])).toBeUndefined();
});
