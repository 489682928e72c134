import { describe, expect, it } from '@jest/globals';
import type { NetworkNode } from '@roundsman/network';
import { masqueradeRules, rangesOf } from './masquerade.ts';
import { linkLocalOf, remoteRanges, vtepMac } from './remote-ranges.ts';

const node = (name: string, podCIDRs: string[], machine: string, mode = 'namespace'): NetworkNode => ({
  name, uid: name, addresses: [], podCIDRs, ready: true, annotations: { 'roundsman.io/network-mode': mode, ...(machine === '' ? {} : { 'roundsman.io/machine-address': machine }) },
});

describe('the ways to pods of other machines', () => {
  it('lead by the address of the machine, in the family of the pods where it has one; its own nodes need none', () => {
    const nodes = [
      node('here-1', ['10.1.0.0/24'], '192.0.2.1'),
      node('here-2', ['10.1.1.0/24'], '192.0.2.1,2001:db8::1'),
      node('there', ['10.1.2.0/24', 'fd00:2::/64'], '192.0.2.2,2001:db8::2', 'machine'),
      node('old', ['10.1.3.0/24', 'fd00:3::/64'], '192.0.2.3'),
      node('unknown', ['10.1.4.0/24'], ''),
      node('docker', ['10.1.5.0/24'], '192.0.2.5', 'docker'),
      node('new', [], '192.0.2.6'),
    ];
    expect(remoteRanges(nodes, ['192.0.2.1', '2001:db8::1'])).toEqual([
      { range: '10.1.2.0/24', machine: '192.0.2.2' },
      { range: '10.1.3.0/24', machine: '192.0.2.3' },
      { range: 'fd00:2::/64', machine: '2001:db8::2' },
      { range: 'fd00:3::/64', machine: '192.0.2.3' },
    ]);
  });

  it('by VXLAN everybody works out the hardware address of a machine: locally administered, for one receiver', () => {
    expect(vtepMac('192.0.2.2')).toBe('0e:52:c0:00:02:02');
    expect(linkLocalOf('0e:52:c0:00:02:02')).toBe('fe80::c52:c0ff:fe00:202');
    expect(vtepMac('2001:db8::2')).toMatch(/^0e(:[0-9a-f]{2}){5}$/);
    expect(vtepMac('2001:db8::2')).not.toBe(vtepMac('2001:db8::3'));
  });
});

describe('the rules of a machine', () => {
  it('change nothing between pods, machines and pods', () => {
    const rules = masqueradeRules('c', { podCidrs: ['10.1.0.0/16', 'fd00::/56'], serviceCidrs: ['10.2.0.0/16'], loadBalancerCidrs: [] }, ['192.0.2.1', '2001:db8::1']);
    expect(rules).toContain('set inside-ip { type ipv4_addr; flags interval; auto-merge; elements = { 10.1.0.0/16, 192.0.2.1 }; }');
    expect(rules).toContain('set inside-ip6 { type ipv6_addr; flags interval; auto-merge; elements = { fd00::/56, 2001:db8::1 }; }');
    expect(rules).toContain('ip saddr @pods-ip ip daddr != @inside-ip masquerade');
  });

  it('say whose addresses they are', () => {
    const listed = JSON.stringify({ nftables: [{ metainfo: {} }, { set: { name: 'pods-ip', elem: [{ prefix: { addr: '10.1.0.0', len: 16 } }] } }, { set: { name: 'services-ip', elem: [{ prefix: { addr: '10.2.0.0', len: 16 } }] } }, { set: { name: 'pods-ip6' } }] });
    expect(rangesOf(listed, 'pods')).toEqual(['10.1.0.0/16']);
    expect(rangesOf(listed, 'services')).toEqual(['10.2.0.0/16']);
  });
});
