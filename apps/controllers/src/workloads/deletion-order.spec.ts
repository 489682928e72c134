import { describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import * as fc from 'fast-check';
import { inDeletionOrder } from './deletion-order.ts';

const now = Date.UTC(2026, 0, 2);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
interface Draft {
  node?: string;
  phase?: string;
  readyFor?: number;
  cost?: string;
  restarts?: number;
  age?: number;
}
const pod = (name: string, { node = 'n', phase = 'Running', readyFor = 100, cost, restarts = 0, age = 1_000 }: Draft = {}): Pod =>
  ({
    metadata: { name, uid: name, creationTimestamp: ago(age), ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }) },
    spec: { ...(node === '' ? {} : { nodeName: node }), containers: [] },
    status: { phase, containerStatuses: [{ name: 'c', restartCount: restarts }], conditions: readyFor < 0 ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(readyFor) }] },
  }) as unknown as Pod;
const order = (pods: readonly Pod[], crowding?: (one: Pod) => number): string[] => inDeletionOrder(pods, now, crowding).map(({ metadata }) => metadata.name);

describe('the order in which pods go', () => {
  const worse: readonly [what: string, first: Draft, second: Draft][] = [
    ['on no node', { node: '' }, { phase: 'Pending' }],
    ['pending', { phase: 'Pending' }, { readyFor: -1 }],
    ['not ready', { readyFor: -1, cost: '9' }, { cost: '-9' }],
    ['of lower cost', { cost: '-9', readyFor: 900 }, { cost: '1', readyFor: 1 }],
    ['ready for less time', { readyFor: 1 }, { readyFor: 900, restarts: 9 }],
    ['restarted more often', { restarts: 3, age: 900 }, { restarts: 1, age: 1 }],
    ['younger', { age: 1 }, { age: 900 }],
  ];
  it.each(worse)('is: %s first', (_what, first, second) => {
    expect(order([pod('b', second), pod('a', first)])).toEqual(['a', 'b']);
    expect(order([pod('b', first), pod('a', second)])).toEqual(['b', 'a']);
  });

  it('is: from the fuller node first, before their time counts', () => {
    const crowding = ({ spec }: Pod): number => (spec.nodeName === 'full' ? 2 : 1);
    expect(order([pod('a', { node: 'free', readyFor: 1 }), pod('b', { node: 'full', readyFor: 900 })], crowding)).toEqual(['b', 'a']);
  });

  it('takes a cost that is no number for none', () => {
    expect(order([pod('a', { cost: 'much', readyFor: 900 }), pod('b', { readyFor: 1 })])).toEqual(['b', 'a']);
  });

  it('is the same whatever order they come in', () => {
    const draft = fc.record({ node: fc.constantFrom('', 'n', 'm'), phase: fc.constantFrom('Pending', 'Running'), readyFor: fc.constantFrom(-1, 1, 5, 900), cost: fc.constantFrom('0', '5'), restarts: fc.nat(2), age: fc.constantFrom(1, 2, 900) });
    fc.assert(
      fc.property(fc.array(draft, { minLength: 2, maxLength: 8 }), fc.infiniteStream(fc.nat()), (drafts, random) => {
        const pods = drafts.map((one, index) => pod(`p${index}`, one));
        const shuffled = pods.map((one) => ({ one, at: random.next().value as number })).sort((a, b) => a.at - b.at);
        expect(order(shuffled.map(({ one }) => one))).toEqual(order(pods));
      }),
    );
  });
});
