import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, oneof, property, record } from 'fast-check';
import { AddressPool, nodeAddressIn } from './address-pool.ts';

const poolOf = (...ranges: string[]): AddressPool => {
  const pool = new AddressPool();
  pool.use(ranges);
  return pool;
};

describe('the addresses of the pods of a node', () => {
  it('begin after the node’s own, one of each range, and end before the broadcast address', () => {
    const pool = poolOf('10.1.0.0/29', 'fd00:1::/64');
    expect(nodeAddressIn('10.1.0.0/29')).toBe('10.1.0.1');
    expect(['a', 'b', 'c', 'd', 'e'].map((owner) => pool.take(owner))).toEqual([
      ['10.1.0.2', 'fd00:1::2'],
      ['10.1.0.3', 'fd00:1::3'],
      ['10.1.0.4', 'fd00:1::4'],
      ['10.1.0.5', 'fd00:1::5'],
      ['10.1.0.6', 'fd00:1::6'],
    ]);
    expect(() => pool.take('f')).toThrow('no free address for the pod: all 5 of the node\'s range 10.1.0.0/29 are in use');
    pool.release('c');
    expect(pool.take('f')).toEqual(['10.1.0.4', 'fd00:1::7']);
  });

  it('are given again as late as can be, but to the pod that had them', () => {
    const pool = poolOf('10.1.0.0/28');
    const first = pool.take('a');
    pool.release('a');
    expect(pool.take('b')).not.toEqual(first);
    expect(pool.take('a', first)).toEqual(first);
    pool.release('a');
    expect(pool.claim('c', first)).toBe(true);
    expect(pool.take('a', first)).not.toEqual(first);
  });

  it('that are in use stay so when the ranges are told later, or change', () => {
    const pool = new AddressPool();
    pool.claim('old', ['10.1.0.2']);
    pool.use(['10.1.0.0/28']);
    expect(pool.take('new')).toEqual(['10.1.0.3']);
    pool.use(['10.2.0.0/28']);
    expect(pool.take('new')).toEqual(['10.2.0.2']);
    expect(pool.covers(['10.1.0.3'])).toBe(false);
  });

  it('no two owners have the same, whatever happens, and all of a range are given before it is full', () => {
    const owner = constantFrom(...'abcdefghij');
    const step = oneof(record({ do: constantFrom('take', 'release'), owner }), record({ do: constantFrom('claim'), owner, address: constantFrom(...Array.from({ length: 14 }, (_, index) => `10.1.0.${index + 1}`)) }));
    assert(
      property(array(step, { maxLength: 60 }), (steps) => {
        const pool = poolOf('10.1.0.0/28');
        const model = new Map<string, string>();
        for (const one of steps) {
          if (one.do === 'release') {
            pool.release(one.owner);
            model.delete(one.owner);
          } else if ('address' in one) {
            const free = [...model].every(([other, address]) => other === one.owner || address !== one.address);
            expect(pool.claim(one.owner, [one.address])).toBe(free);
            if (free) model.set(one.owner, one.address);
          } else {
            const [address = ''] = pool.take(one.owner);
            expect([...model].filter(([other, taken]) => other !== one.owner && taken === address)).toEqual([]);
            model.set(one.owner, address);
          }
        }
        for (const [name, address] of model) expect(pool.of(name)).toEqual([address]);
        const given = new Set([...model.values()].filter((address) => address !== '10.1.0.1'));
        for (let number = given.size; number < 13; number += 1) given.add(pool.take(`more-${number}`)[0] ?? '');
        expect(given.size).toBe(13);
        expect(() => pool.take('one too many')).toThrow('no free address');
      }),
    );
  });
});
