import { expect, it } from '@jest/globals';
import { info, nodeWith, said } from '../testing/objects.ts';
import { containersRunnable } from './containers-runnable.ts';

it('refuses a node that cannot run containers and says what it lacks', () => {
  const ready = { type: 'Ready', status: 'True' } as const;
  const nodes = [
    nodeWith('a', [], { conditions: [ready] }),
    nodeWith('b', [], { conditions: [ready, { type: 'ContainersRunnable', status: 'True' }] }),
    nodeWith('c', [], { conditions: [ready, { type: 'ContainersRunnable', status: 'False', message: 'Docker does not answer.' }] }),
    nodeWith('d', [], { conditions: [ready, { type: 'ContainersRunnable', status: 'False' }] }),
  ];
  expect(said(containersRunnable, info('p'), nodes)).toEqual(['ok', 'ok', 'node(s) cannot run containers: Docker does not answer', 'node(s) cannot run containers']);
});
