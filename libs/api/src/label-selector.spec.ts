import { describe, expect, it } from '@jest/globals';
import type { LabelSelector } from './kinds/workload/selector.ts';
import { labelSelectorCauses, labelSelectorText, selects } from './label-selector.ts';

const labels = { app: 'web', tier: 'front' };

describe('selects', () => {
  it.each<[LabelSelector | undefined, boolean]>([
    [undefined, false],
    [{}, true],
    [{ matchLabels: { app: 'web' } }, true],
    [{ matchLabels: { app: 'web', tier: 'back' } }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['front', 'back'] }, { key: 'x', operator: 'DoesNotExist' }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['front'] }] }, false],
    [{ matchLabels: { app: 'web' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] }, false],
  ])('%j: %s', (selector, expected) => expect(selects(selector, labels)).toBe(expected));
  it('what has no labels is chosen by what asks for none', () => {
    expect(selects({ matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] }, undefined)).toBe(true);
    expect(selects({ matchLabels: { a: 'b' } }, undefined)).toBe(false);
  });
});

it('is written as clients write it, keys in order', () => {
  expect(labelSelectorText({ matchLabels: { tier: 'front', app: 'web' }, matchExpressions: [{ key: 'b', operator: 'In', values: ['y', 'x'] }, { key: 'c', operator: 'DoesNotExist' }, { key: 'a', operator: 'Exists' }, { key: 'z', operator: 'NotIn', values: ['q'] }] })).toBe(
    'a,app=web,b in (x,y),!c,tier=front,z notin (q)',
  );
  expect([labelSelectorText({}), labelSelectorText(undefined)]).toEqual(['', '']);
});

it('is refused in the words of Kubernetes', () => {
  const causes = labelSelectorCauses(
    { matchLabels: { 'no good': 'x' }, matchExpressions: [{ key: 'a', operator: 'Like' }, { key: 'a', operator: 'In' }, { key: 'a', operator: 'Exists', values: ['b'] }, { key: 'a', operator: 'In', values: ['not good'] }] },
    'spec.selector',
  );
  expect(causes.map(({ field, message }) => `${field}: ${message.slice(0, 60)}`)).toEqual([
    'spec.selector.matchLabels: Invalid value: "no good": name part must consist of alphanum',
    'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    "spec.selector.matchExpressions[1].values: Required value: must be specified when `operator` is 'In' or",
    "spec.selector.matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' ",
    'spec.selector.matchExpressions[3].values[0]: Invalid value: "not good": a valid label must be an empty st',
  ]);
});
