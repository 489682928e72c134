import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { covers } from './covers.ts';

const name = fc.constantFrom('a', 'b', 'c');
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 4 }, fc.constantFrom<unknown>('', 'x', 0, 1, true, false), fc.array(tie('any'), { maxLength: 3 }), fc.dictionary(name, tie('any'), { maxKeys: 3 })),
})).any;
/** As a server gives it back: with more in it, and without what says nothing. */
const filled = (member: unknown): unknown => {
  if (Array.isArray(member)) return [...member.map(filled), 'added'];
  if (typeof member !== 'object' || member === null) return member;
  return { ...Object.fromEntries(Object.entries(member).filter(([, one]) => one !== '' && one !== false && one !== 0).map(([key, one]) => [key, filled(one)])), filledIn: 1 };
};

describe('an object is as it was said', () => {
  it('whatever else is in it', () => {
    fc.assert(fc.property(fc.dictionary(name, value), (wanted) => expect(covers(filled(wanted), wanted)).toBe(true)));
  });

  it('not when a member is gone, or is another one', () => {
    expect(covers({ spec: { ports: [{ port: 81 }] } }, { spec: { ports: [{ port: 80 }] } })).toBe(false);
    expect(covers({ spec: {} }, { spec: { type: 'NodePort' } })).toBe(false);
    expect(covers({ spec: { env: [{ name: 'A' }] } }, { spec: { env: [{ name: 'A', value: '1' }] } })).toBe(false);
    expect(covers({ spec: 'text' }, { spec: { a: 1 } })).toBe(false);
    expect(covers({ hostNetwork: true }, { hostNetwork: false })).toBe(false);
  });
});
