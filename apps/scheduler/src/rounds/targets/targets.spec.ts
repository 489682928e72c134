import { describe, expect, it } from '@jest/globals';
import type { RoundSpec } from '@roundsman/api';
import { echoPeer } from './echo.ts';
import type { Peer, RoundFacts } from './facts.ts';
import { targetId } from './target-id.ts';
import { addressedOf, notTestedOf, targetsOf } from './targets.ts';

const ports = { http: 18080, https: 18443, dns: 18053, dot: 18853 };
const peers: Peer[] = [{ runner: 'b', node: 'node-2', addresses: ['10.0.0.2'], ports }, { runner: 'a', node: 'node-1', addresses: ['10.0.0.1'], ports }, { runner: 'c', node: 'node-3', notReady: 'gone' }];
const facts = (kind: RoundSpec['taskRef']['kind'], taskSpec: object, more: Partial<RoundFacts> = {}): RoundFacts => ({
  taskRef: { kind, resource: 'r', namespace: 'shop', name: 'task', uid: 'uid', generation: 1 }, number: 1, taskSpec: taskSpec as Record<string, unknown>, runners: peers, ...more,
});
const able = { workloads: true };

describe('target of an AppHttpHealthy', () => {
  const http = (target: object) => facts('AppHttpHealthy', { target: { host: 'http://a', method: 'GET', http2: false, ...target } });

  it('takes header, method and protocol from the task; values keep their colons', () => {
    const asked = http({ host: 'shop.example.com/x', method: 'POST', http2: true, header: ['Authorization: Bearer a:b:c', 'X-Empty:'], bodyConfigmapName: 'b', tlsSecretName: 's' });
    expect(targetsOf(asked)('a')).toEqual([
      {
        id: 'url', layer: 'url', probe: 'http', url: 'http://shop.example.com/x', method: 'POST', http2: true, hasBody: true, hasTls: true,
        headers: [['Authorization', 'Bearer a:b:c'], ['X-Empty', '']],
      },
    ]);
    expect(notTestedOf(asked, able, {})).toEqual([]);
  });

  it('is tested by nobody where there is no runner at all, which is told with the reason', () => {
    expect(notTestedOf({ ...http({}), runners: [] }, able, { workload: 'No node fits spec.agentSpec.affinity.' })).toEqual(['no runner carries the task: No node fits spec.agentSpec.affinity.']);
    expect(notTestedOf({ ...http({}), runners: [peers[2]!] }, able, {})).toEqual([]);
  });

  it('leads the built-in name to the next ready runner by name', () => {
    const connect = (host: string, self: string) => (targetsOf(http({ host }))(self)[0] as { connect?: unknown }).connect;
    expect(connect('http://echo.roundsman-system.svc/?delay=1', 'a')).toEqual({ host: '10.0.0.2', port: 18080 });
    expect(connect('https://echo.roundsman-system.svc', 'b')).toEqual({ host: '10.0.0.1', port: 18443 });
    expect(connect('https://echo.roundsman-system.svc:80', 'a')).toEqual({ host: '10.0.0.2', port: 18080 });
    expect(connect('http://echo.roundsman-system.svc:8080', 'a')).toBeUndefined();
    expect(connect('http://example.com', 'a')).toBeUndefined();
    expect(echoPeer('a', [peers[1] as Peer])?.runner).toBe('a');
  });
});

describe('targets of a NetDNS', () => {
  const asking = (target: object, request: object = {}, more?: Partial<RoundFacts>) => facts('NetDNS', { target, request: { domain: 'example.com', protocol: 'udp', ...request } }, more);
  const one = (targetUser: object, request?: object) => targetsOf(asking({ targetUser }, request))('a')[0];

  it('ask for A at IPv4, AAAA at IPv6, or for the type given', () => {
    expect(one({ server: '10.0.0.10', port: 53 })).toMatchObject({ id: 'dns/udp/10.0.0.10:53/A/example.com', family: 'v4', recordType: 'A', server: '10.0.0.10', port: 53 });
    expect(one({ server: 'fd00::a', port: 5353 }, { protocol: 'tcp' })).toMatchObject({ id: 'dns/tcp/[fd00::a]:5353/AAAA/example.com', family: 'v6', recordType: 'AAAA', server: 'fd00::a' });
    expect(one({ server: '[fd00::a]', port: 53 }, { recordType: 'SRV' })).toMatchObject({ id: 'dns/udp/[fd00::a]:53/SRV/example.com', server: 'fd00::a', recordType: 'SRV' });
  });

  it('lead the built-in name to the next runner, with the name kept for TLS', () => {
    expect(one({ server: 'echo.roundsman-system.svc', port: 53 })).toMatchObject({ id: 'dns/udp/echo.roundsman-system.svc:53/A/example.com', server: '10.0.0.2', port: 18053 });
    expect(one({ server: 'echo.roundsman-system.svc', port: 853 }, { protocol: 'tcp-tls' })).toMatchObject({ server: '10.0.0.2', port: 18853, serverName: 'echo.roundsman-system.svc' });
  });

  it('are all servers that were found, in the families asked for; what is lacking is told with the reason', () => {
    const dnsServers = [{ service: 'kube-system/b', address: '10.96.0.11', port: 53 }, { service: 'kube-system/kube-dns', address: '10.96.0.10', port: 53 }, { service: 'kube-system/again', address: '10.96.0.10', port: 53 }];
    const both = asking({ targetDns: { testIPv4: true, testIPv6: true } }, {}, { dnsServers });
    expect(targetsOf(both)('a').map(({ id, family }) => [id, family])).toEqual([['dns/udp/10.96.0.10:53/A/example.com', 'v4'], ['dns/udp/10.96.0.11:53/A/example.com', 'v4']]);
    expect(notTestedOf(both, able, { dnsServers: 'Service kube-system/kube-dns has no IPv6 address' })).toEqual(['spec.target.targetDns over IPv6: no DNS server with such an address: Service kube-system/kube-dns has no IPv6 address']);
    expect(targetsOf(asking({ targetDns: { testIPv4: false, testIPv6: true } }, {}, { dnsServers: [...dnsServers, { service: 's', address: 'fd00::a', port: 5353 }] }))('a').map(({ id }) => id)).toEqual(['dns/udp/[fd00::a]:5353/AAAA/example.com']);
    expect(notTestedOf(asking({ targetDns: { testIPv4: true, testIPv6: false } }), able, {})).toEqual(['spec.target.targetDns over IPv4: no DNS server with such an address']);
  });

  it('have ids that stay short and different for long names', () => {
    const ids = ['a', 'b'].map((end) => targetId(`dns/udp/10.0.0.10:53/A/${'x'.repeat(250)}${end}`));
    expect(ids.every((id) => id.length === 253)).toBe(true);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('what a Round keeps of its runners', () => {
  it('is what others address', () => {
    const mesh = { ipv4: true, ipv6: false, endpoint: true, multusInterface: false };
    expect(addressedOf('NetReach', { target: mesh })).toEqual({ families: ['v4'], ports: ['http'] });
    expect(addressedOf('NetReach', { target: { ...mesh, endpoint: false } })).toBeUndefined();
    expect(addressedOf('AppHttpHealthy', { target: { host: 'example.com' } })).toBeUndefined();
    expect(addressedOf('AppHttpHealthy', { target: { host: 'echo.roundsman-system.svc/x' } })).toEqual({ families: ['v4', 'v6'], ports: ['http', 'https'] });
    expect(addressedOf('NetDNS', { target: { targetUser: { server: 'echo.roundsman-system.svc', port: 53 } } })?.ports).toEqual(['dns', 'dot']);
    expect(addressedOf('NetDNS', { target: { targetDns: {} } })).toBeUndefined();
  });
});
