import { describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { container, podOf } from '../testing/runs.ts';
import { dnsOf } from './dns.ts';
import { parseResolvConf } from './resolv-conf.ts';

const machine = '# of the machine\nsearch corp.example. lan\nnameserver 192.0.2.53 ; first\nnameserver 192.0.2.54\noptions timeout:3 rotate\n';
const cluster = { dnsAddresses: ['10.96.0.10'], domain: 'cluster.local' };
const of = (spec: Partial<PodSpecInput>, from = machine) => dnsOf(podOf({ containers: [container()], ...spec }), from, cluster);
const clusterFirst = 'search default.svc.cluster.local svc.cluster.local cluster.local corp.example lan\nnameserver 10.96.0.10\noptions ndots:5\n';
const asMachine = 'search corp.example lan\nnameserver 192.0.2.53\nnameserver 192.0.2.54\noptions timeout:3 rotate\n';

describe('how a pod resolves names', () => {
  it('by its policy', () => {
    expect(of({}).text).toBe(clusterFirst);
    expect(of({ hostNetwork: true }).text).toBe(asMachine);
    expect(of({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }).text).toBe(clusterFirst);
    expect(of({ dnsPolicy: 'Default' })).toEqual({ text: asMachine, warnings: [] });
    expect(of({ dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'] } }).text).toBe('nameserver 192.0.2.1\n');
    expect(of({ dnsPolicy: 'Default' }, '').text).toBe('');
  });

  it('as the machine does, and says so, where pods do not reach the DNS of the cluster', () => {
    const { text, warnings } = dnsOf(podOf({ containers: [container()] }), machine, { ...cluster, lacking: 'the agent is not root' });
    expect(text).toBe(asMachine);
    expect(warnings).toEqual([{ reason: 'MissingClusterDNS', message: 'pod: "web_default(uid-1)". the agent is not root: it cannot have the "ClusterFirst" policy. Falling back to "Default" policy.' }]);
    expect(dnsOf(podOf({ containers: [container()], dnsPolicy: 'Default' }), machine, { ...cluster, lacking: 'the agent is not root' }).warnings).toEqual([]);
  });

  it('what it says itself comes after, its options instead', () => {
    const dnsConfig = { nameservers: ['192.0.2.1', '10.96.0.10'], searches: ['lan', 'own.example'], options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }] };
    expect(of({ dnsConfig }).text).toBe('search default.svc.cluster.local svc.cluster.local cluster.local corp.example lan own.example\nnameserver 10.96.0.10\nnameserver 192.0.2.1\noptions ndots:2 edns0\n');
  });

  it('what resolvers cannot take is left out, and told', () => {
    const nameservers = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    const many = of({ dnsConfig: { nameservers, searches: Array.from({ length: 40 }, (_, index) => `s${index}`) } });
    expect(parseResolvConf(many.text).servers).toEqual(['10.96.0.10', '192.0.2.1', '192.0.2.2']);
    expect(parseResolvConf(many.text).searches).toHaveLength(32);
    expect(many.warnings.map(({ message }) => message)).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.96.0.10 192.0.2.1 192.0.2.2',
      expect.stringMatching(/^Search Line limits were exceeded, some search paths have been omitted, the applied search line is: default\.svc\.cluster\.local .* s26$/),
    ]);
    const long = Array.from({ length: 10 }, (_, index) => `${index}.${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(55)}`);
    const line = parseResolvConf(of({ dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'], searches: [...long, `${'e'.repeat(63)}.${long[0]}`] } }).text).searches;
    expect(line).toEqual(long.slice(0, 8));
    expect(line.join(' ').length).toBeLessThanOrEqual(2048);
  });
});
