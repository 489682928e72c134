import { describe, expect, it } from '@jest/globals';
import { chooseRanges } from './ranges.ts';

const defaults = { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/16', loadBalancerCidr: '10.97.0.0/24', backend: 'host-gw' as const };

describe('the ranges of a cluster', () => {
  it('are Kubernetes’ usual ones where they are free, and stay what they were', () => {
    expect(chooseRanges({}, undefined, ['0.0.0.0/0', '192.168.1.0/24', '192.168.1.7/24', '127.0.0.1/8'])).toEqual(defaults);
    expect(chooseRanges({}, { ...defaults, podCidr: '10.250.0.0/16' }, ['10.250.1.0/24'])).toEqual({ ...defaults, podCidr: '10.250.0.0/16' });
  });

  it('are the next ones where something of the machine is in the way', () => {
    expect(chooseRanges({}, undefined, ['10.244.3.0/24', '10.96.0.1/32', '10.97.0.5/24'])).toEqual({ ...defaults, podCidr: '10.245.0.0/16', serviceCidr: '10.98.0.0/16', loadBalancerCidr: '10.97.1.0/24' });
    expect(chooseRanges({}, undefined, ['10.0.0.0/8'])).toMatchObject({ podCidr: '172.26.0.0/16', serviceCidr: '172.20.0.0/16', loadBalancerCidr: '172.19.0.0/24' });
    expect(chooseRanges({ podCidr: '10.96.0.0/12' }, undefined, [])).toMatchObject({ podCidr: '10.96.0.0/12', serviceCidr: '172.20.0.0/16', loadBalancerCidr: '172.19.0.0/24' });
  });

  it('that are asked for and cannot be are refused in one sentence', () => {
    const refused = (asked: object, kept?: typeof defaults): string => {
      try {
        chooseRanges(asked, kept, ['10.1.2.3/24']);
      } catch (error) {
        return (error as Error).message;
      }
      return 'nothing was refused';
    };
    expect(refused({ podCidr: '10.1.0.0/16' })).toBe('--pod-cidr 10.1.0.0/16: 10.1.0.0/16 overlaps 10.1.2.0/24, which this machine has a route or an interface to');
    expect(refused({ podCidr: '10.5.0.0/16', serviceCidr: '10.5.9.0/24' })).toBe('--service-cidr 10.5.9.0/24: 10.5.9.0/24 overlaps 10.5.0.0/16, the range of --pod-cidr');
    expect(refused({ podCidr: '10.1.2.3' })).toBe('--pod-cidr: "10.1.2.3" is not a CIDR range such as 10.244.0.0/16');
    expect(refused({ podCidr: '10.1.2.3/16' })).toBe('--pod-cidr: "10.1.2.3/16" has bits set after its prefix; 10.1.0.0/16 is the range it lies in');
    // Its own pods may run already.
    expect(refused({ podCidr: '10.1.0.0/16' }, { ...defaults, podCidr: '10.1.0.0/16' })).toBe('nothing was refused');
  });

  it('may be of two families, and none for load balancers', () => {
    expect(chooseRanges({ podCidr: '10.1.0.0/16,fd00:1::/56', serviceCidr: '10.2.0.0/16,fd00:2::/112', loadBalancerCidr: 'none', backend: 'vxlan' }, undefined, [])).toEqual({
      podCidr: '10.1.0.0/16,fd00:1::/56', serviceCidr: '10.2.0.0/16,fd00:2::/112', loadBalancerCidr: 'none', backend: 'vxlan',
    });
  });
});
