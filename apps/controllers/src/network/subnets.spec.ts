import { describe, expect, it } from '@jest/globals';
import { overlaps, parseCidr, type Cidr } from '@roundsman/api';
import { array, assert, boolean, nat, property } from 'fast-check';
import { freeSubnet } from './subnets.ts';

const range = parseCidr('10.244.0.0/16');
const text = (used: string[], from: number, of = range, prefix = 24): string | undefined => freeSubnet(of, prefix, used.map(parseCidr), from)?.cidr.text;

describe('the next free subnet', () => {
  it('is the next one, and after the last the first again', () => {
    expect(text([], 0)).toBe('10.244.0.0/24');
    expect(text(['10.244.1.0/24'], 1)).toBe('10.244.2.0/24');
    expect(text(['10.244.255.0/24'], 255)).toBe('10.244.0.0/24');
    expect(text(['10.244.255.0/24', '10.244.0.0/24'], 511)).toBe('10.244.1.0/24');
  });
  it('does not overlap with larger or smaller ones, and others do not count', () => {
    expect(text(['10.244.0.0/20', '10.244.16.128/25', '10.1.0.0/16', 'fd00::/48'], 3)).toBe('10.244.17.0/24');
    expect(text(['10.0.0.0/8'], 0)).toBeUndefined();
  });
  it('is none when all are given', () => {
    const small = parseCidr('10.244.0.0/23');
    expect(text(['10.244.0.0/24'], 0, small)).toBe('10.244.1.0/24');
    expect(text(['10.244.0.0/24', '10.244.1.0/24'], 1, small)).toBeUndefined();
  });
  it('of IPv6 is found as fast, in a range of 65536', () => {
    const six = parseCidr('fd00:10:244::/48');
    expect(text(['fd00:10:244::/49'], 5, six, 64)).toBe('fd00:10:244:8000::/64');
    expect(text([], 65_537, six, 64)).toBe('fd00:10:244:1::/64');
  });

  it('whatever comes and goes, no two overlap and all can be given', () => {
    const small = parseCidr('10.0.0.0/28');
    assert(
      property(array(boolean(), { maxLength: 60 }), nat(15), (steps, odd) => {
        const used: Cidr[] = [];
        let from = odd;
        for (const gives of steps) {
          if (!gives) {
            used.splice(odd % Math.max(1, used.length), 1);
            continue;
          }
          const next = freeSubnet(small, 30, used, from);
          expect(next === undefined).toBe(used.length === 4);
          if (next === undefined) continue;
          expect(used.some((one) => overlaps(one, next.cidr))).toBe(false);
          used.push(next.cidr);
          from = next.index + 1;
        }
      }),
    );
  });
});
