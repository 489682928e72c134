import { describe, expect, it } from '@jest/globals';
import { indexIn, parseCidr, type Service } from '@roundsman/api';
import { array, assert, boolean, nat, property, record } from 'fast-check';
import { addressesFor, NoAddress } from './addresses.ts';

interface Parts {
  readonly families?: string[];
  readonly ip?: string;
  readonly listed?: string;
  readonly held?: string[];
}
const service = ({ families = ['IPv4'], ip, listed, held = [] }: Parts = {}): Service =>
  ({
    metadata: { name: 's', annotations: listed === undefined ? {} : { 'roundsman.io/load-balancer-addresses': listed } },
    spec: { type: 'LoadBalancer', ipFamilies: families, ...(ip === undefined ? {} : { loadBalancerIP: ip }) },
    status: { loadBalancer: { ingress: held.map((one) => ({ ip: one })) } },
  }) as unknown as Service;
const pool = ['10.97.0.0/24', 'fd00:97::/112'].map(parseCidr);
const give = (parts: Parts, taken: string[] = [], ranges = pool): string[] => addressesFor(service(parts), ranges, new Map(taken.map((address) => [address, 'default/other'])), () => 1n);

describe('addresses of a load balancer', () => {
  it('are one per family that the pool has', () => {
    expect(give({ families: ['IPv4', 'IPv6'] })).toEqual(['10.97.0.1', 'fd00:97::1']);
    expect(give({ families: ['IPv6', 'IPv4'] }, [], pool.slice(0, 1))).toEqual(['10.97.0.1']);
    expect(() => give({ families: ['IPv6'] }, [], pool.slice(0, 1))).toThrow('has none of the families of the service (IPv6)');
    expect(() => give({}, [], [])).toThrow('the cluster has no pool');
  });
  it('are those it has, unless they are another\'s or outside of the pool by now', () => {
    expect(give({ held: ['10.97.0.9'] })).toEqual(['10.97.0.9']);
    expect(give({ held: ['10.97.0.9'] }, ['10.97.0.9'])).toEqual(['10.97.0.1']);
    expect(give({ held: ['10.98.0.9'] })).toEqual(['10.97.0.1']);
  });
  it('are those it asks for, or none', () => {
    expect(give({ families: ['IPv4', 'IPv6'], listed: 'fd00:97::5, 10.97.0.5', ip: '10.97.0.6' })).toEqual(['10.97.0.5', 'fd00:97::5']);
    expect(give({ families: ['IPv4', 'IPv6'], ip: '10.97.0.6', held: ['10.97.0.9'] })).toEqual(['10.97.0.6', 'fd00:97::1']);
    expect(() => give({ ip: '10.97.0.6', held: ['10.97.0.9'] }, ['10.97.0.6'])).toThrow('is that of Service default/other');
    expect(() => give({ ip: 'fd00:97::5' })).toThrow('not of a family of the service (IPv4)');
    expect(() => give({ ip: 'nonsense' })).toThrow('nonsense that it asks for is not in the pool');
    expect(() => give({ listed: '10.97.0.5,10.97.0.6' })).toThrow('several addresses of one family');
  });

  it('are never given twice, all of the pool can be, and one is found as long as there is any', () => {
    const small = parseCidr('10.97.0.0/29');
    assert(
      property(array(record({ leaves: boolean(), which: nat(7) }), { maxLength: 40 }), (steps) => {
        const taken = new Map<string, string>();
        let next = 1n;
        for (const { leaves, which } of steps) {
          if (leaves) {
            taken.delete([...taken.keys()][which % Math.max(1, taken.size)] ?? '');
            continue;
          }
          try {
            const [address = ''] = addressesFor(service(), [small], taken, () => next);
            expect(taken.has(address)).toBe(false);
            taken.set(address, 'x');
            next = (indexIn(small, address) ?? 0n) + 1n;
          } catch (error) {
            expect(error).toBeInstanceOf(NoAddress);
            expect(taken.size).toBe(6);
          }
        }
      }),
    );
  });
});
