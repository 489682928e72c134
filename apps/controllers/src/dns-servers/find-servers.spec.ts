import { describe, expect, it } from '@jest/globals';
import type { NetDnsSpec, Service } from '@roundsman/api';
import { findServers, type FoundServers } from './find-servers.ts';

const service = (name: string, spec: object, metadata: object = {}): Service => ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'kube-system', ...metadata }, spec }) as unknown as Service;
const dns = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  { name: 'metrics', port: 9153, protocol: 'TCP' },
];
const labels = { 'k8s-app': 'kube-dns' };

function find(services: readonly Service[], targetDns: object = {}, protocol = 'udp'): FoundServers {
  const spec = { target: { targetDns: { testIPv4: true, testIPv6: false, ...targetDns } }, request: { protocol } } as unknown as NetDnsSpec & { target: { targetDns: NonNullable<NetDnsSpec['target']['targetDns']> } };
  const source = { get: (namespace: string, name: string) => services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name), list: (namespace: string) => services.filter(({ metadata }) => metadata.namespace === namespace) };
  return findServers(spec, source, 'k8s-app=kube-dns');
}

describe('DNS servers of a targetDns', () => {
  it('are the cluster addresses of the Service it names, of the families it asks for', () => {
    const both = service('coredns', { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10', 'fd00::a'], ports: dns }, { namespace: 'dns' });
    const named = { serviceName: 'coredns', serviceNamespace: 'dns' };
    const v4 = { service: 'dns/coredns', address: '10.96.0.10', port: 53 };
    const v6 = { service: 'dns/coredns', address: 'fd00::a', port: 53 };
    expect(find([both], named)).toEqual({ dnsServers: [v4], condition: { type: 'TargetsFound', status: 'True', reason: 'ServersFound', message: 'DNS servers of Service dns/coredns: 10.96.0.10 port 53.' } });
    expect(find([both], { ...named, testIPv6: true }).dnsServers).toEqual([v4, v6]);
    expect(find([both], { ...named, testIPv4: false, testIPv6: true }).dnsServers).toEqual([v6]);
  });

  it('are asked at the port for the protocol', () => {
    const odd = service('odd', { clusterIP: '10.96.0.11', ports: [{ name: 'dns', port: 1053, protocol: 'UDP' }, { name: 'dns-tcp', port: 2053, protocol: 'TCP' }, { name: 'tls', port: 853, protocol: 'TCP' }] });
    const plain = service('plain', { clusterIP: '10.96.0.12', ports: dns });
    const other = service('other', { clusterIP: '10.96.0.13', ports: [{ port: 80, protocol: 'TCP' }] });
    const ports = (serviceName: string): (number | undefined)[] => ['udp', 'tcp', 'tcp-tls'].map((protocol) => find([odd, plain, other], { serviceName }, protocol).dnsServers[0]?.port);
    expect([ports('odd'), ports('plain'), ports('other')]).toEqual([[1053, 2053, 853], [53, 53, 53], [53, 53, 53]]);
  });

  it('are found by label in kube-system: all Services with it that answer to DNS, else the one named kube-dns', () => {
    const a = service('a', { clusterIP: '10.96.0.1', ports: dns }, { labels });
    const b = service('b', { clusterIP: '10.96.0.2', ports: dns }, { labels });
    const metrics = service('metrics', { clusterIP: 'None', ports: [dns[2]] }, { labels });
    const elsewhere = service('c', { clusterIP: '10.96.0.3', ports: dns }, { labels, namespace: 'default' });
    const usual = service('kube-dns', { clusterIP: '10.96.0.10', ports: dns });
    expect(find([b, metrics, elsewhere, a, usual]).dnsServers.map(({ service: name }) => name)).toEqual(['kube-system/a', 'kube-system/b']);
    expect(find([metrics, elsewhere, usual]).dnsServers.map(({ service: name }) => name)).toEqual(['kube-system/kube-dns']);
  });

  it('that are not there are told with the reason', () => {
    const headless = service('headless', { clusterIP: 'None', clusterIPs: ['None'], ports: dns });
    const alias = service('alias', { type: 'ExternalName', externalName: 'dns.example.com' });
    const v4 = service('v4', { clusterIP: '10.96.0.10', ports: dns });
    const told = ({ condition: { status, reason, message } }: FoundServers): string => `${status} ${reason}: ${message}`;
    expect(told(find([], { serviceName: 'x', serviceNamespace: 'y' }))).toBe('False ServiceNotFound: spec.target.targetDns: Service y/x does not exist.');
    expect(told(find([]))).toBe('False ServiceNotFound: spec.target.targetDns: no Service in namespace kube-system has the label k8s-app=kube-dns and a port for DNS, and none is called kube-dns.');
    expect(told(find([headless], { serviceName: 'headless' }))).toBe('False NoClusterIP: spec.target.targetDns: Service kube-system/headless has no cluster address: it is headless.');
    expect(told(find([alias], { serviceName: 'alias' }))).toBe('False NoClusterIP: spec.target.targetDns: Service kube-system/alias has no cluster address: it is an ExternalName.');
    const half = find([v4], { serviceName: 'v4', testIPv6: true });
    expect(told(half)).toBe('False NoAddressOfFamily: spec.target.targetDns: Service kube-system/v4 has no IPv6 address.');
    expect(half.dnsServers.map(({ address }) => address)).toEqual(['10.96.0.10']);
  });
});
