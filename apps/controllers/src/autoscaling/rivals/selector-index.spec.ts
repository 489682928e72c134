import { describe, expect, it } from '@jest/globals';
import { selects, type LabelSelector } from '@roundsman/api';
import * as fc from 'fast-check';
import { SelectorIndex } from './selector-index.ts';

describe('the owners of selectors', () => {
  const key = fc.constantFrom('app', 'tier', 'zone');
  const value = fc.constantFrom('a', 'b', 'c');
  const labels = fc.dictionary(key, value, { maxKeys: 3 });
  const expression = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: fc.array(value, { minLength: 1, maxLength: 2 }) }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  );
  const selector = fc.option(fc.record({ matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 2 }) }, { requiredKeys: [] }), { nil: undefined });
  const step = fc.record({ uid: fc.constantFrom('1', '2', '3', '4', '5', '6'), selector, gone: fc.boolean() });

  it('are those whose selectors choose one of the labels, whatever was put and removed before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.array(fc.option(labels, { nil: undefined }), { maxLength: 3 }), (steps, pods) => {
        const index = new SelectorIndex();
        const held = new Map<string, LabelSelector | undefined>();
        for (const { uid, selector: given, gone } of steps) {
          if (gone) index.remove(uid);
          else index.put(uid, `name-${uid}`, given as LabelSelector | undefined);
          if (gone) held.delete(uid);
          else held.set(uid, given as LabelSelector | undefined);
        }
        const wanted = [...held].filter(([, one]) => pods.some((pod) => selects(one, pod))).map(([uid]) => `name-${uid}`);
        expect(index.choosing(pods)).toEqual(wanted.sort());
        for (const uid of held.keys()) index.remove(uid);
        expect([index.size, index.choosing(pods)]).toEqual([0, []]);
      }),
    );
  });

  it('are found without a look at those who choose something else, also where all have a label in common', () => {
    const index = new SelectorIndex();
    for (let number = 0; number < 2_000; number++) index.put(`uid-${number}`, `web-${number}`, { matchLabels: { team: 'shop', app: `web-${number}` } });
    let looks = 0;
    const labels = new Proxy<Record<string, string>>({ team: 'shop', app: 'web-7' }, {
      get: (target, name) => {
        looks += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
    expect(index.choosing([labels])).toEqual(['web-7']);
    expect(looks).toBeLessThan(10);
  });
});
