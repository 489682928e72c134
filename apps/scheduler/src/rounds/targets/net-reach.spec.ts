import { describe, expect, it } from '@jest/globals';
import { probeTargetSchema, type HttpTarget, type NetReachSpec, type RuntimePaths, type RuntimeService } from '@roundsman/api';
import * as fc from 'fast-check';
import type { Peer, RoundFacts } from './facts.ts';
import { familyOf, type Family } from './family.ts';
import { netReach } from './net-reach.ts';
import { notTestedOf, targetsOf } from './targets.ts';

const ways = ['endpoint', 'multusInterface', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'] as const;
type Way = (typeof ways)[number];
const asking = (...asked: (Way | 'ipv4' | 'ipv6')[]): NetReachSpec['target'] => ({
  ...Object.fromEntries([...ways, 'ipv4', 'ipv6'].map((member) => [member, (asked as string[]).includes(member)])), enableLatencyMetric: false,
}) as NetReachSpec['target'];
const factsOf = (more: Partial<RoundFacts>): RoundFacts => ({ taskRef: { kind: 'NetReach', resource: 'r', namespace: 'shop', name: 'my.mesh', uid: 'u', generation: 1 }, number: 7, taskSpec: {}, runners: [], ...more });
const of = (more: Partial<RoundFacts>, ...asked: Parameters<typeof asking>) => netReach(factsOf(more), { target: asking(...asked) } as NetReachSpec, {});
const ids = ({ targets }: { targets: readonly { id: string }[] }): string[] => targets.map(({ id }) => id);

const peer = (runner: string, node: string, ...addresses: string[]): Peer => ({ runner, node, addresses, ports: { http: 8080 } });
const service = (family: Family, more: Partial<RuntimeService> = {}): RuntimeService => ({ family, name: `mesh-${family}`, port: 80, ...more });
const whole: RuntimePaths = {
  services: [
    service('v4', { clusterIP: '10.96.1.1', nodePort: 30080, loadBalancer: [{ ip: '172.18.0.100' }] }),
    service('v6', { clusterIP: 'fd00:96::1', nodePort: 30086, loadBalancer: [{ hostname: 'lb.example.com' }] }),
  ],
  nodes: [{ name: 'node-1', addresses: [{ family: 'v4', address: '172.18.0.2' }, { family: 'v6', address: 'fd00:18::2' }] }, { name: 'node-2', addresses: [{ family: 'v4', address: '172.18.0.3' }] }],
  ingress: { name: 'mesh', host: 'mesh.example.com', path: '/echo', tls: false, addresses: [{ ip: '172.18.0.101' }, { ip: 'fd00:18::101' }] },
};
const dual = [peer('b', 'node-2', '10.244.1.2'), peer('a', 'node-1', '10.244.0.2', 'fd00::2')];

describe('the ways to the runners', () => {
  it('endpoint: every ready runner, oneself too, in each family', () => {
    const { targets, gaps } = of({ runners: [...dual, { runner: 'c', node: 'node-3', notReady: 'Pending' }] }, 'endpoint', 'ipv4', 'ipv6');
    expect(targets).toMatchObject([
      { id: 'endpoint/v4/node-1', layer: 'endpoint', node: 'node-1', family: 'v4', url: 'http://10.244.0.2:8080/?task=shop.my.mesh.7', method: 'GET' },
      { id: 'endpoint/v4/node-2', node: 'node-2' },
      { id: 'endpoint/v6/node-1', family: 'v6', url: 'http://[fd00::2]:8080/?task=shop.my.mesh.7' },
    ]);
    expect(gaps).toEqual(['spec.target.endpoint over IPv6: no IPv6 address of b']);
    expect(of({ runners: [peer('a', 'node-1', '10.244.0.2')] }, 'endpoint', 'ipv6').gaps).toEqual(['spec.target.endpoint over IPv6: no ready runner has an IPv6 address']);
    // Each runner that is not ready is named as missing.
    expect(of({ runners: [{ runner: 'c', node: 'node-3', notReady: 'Pending' }] }, 'endpoint', 'ipv4')).toEqual({ targets: [], gaps: [] });
  });

  it('endpoint: the runner is in the id where several share a node', () => {
    expect(ids(of({ runners: [peer('a', 'n1', '10.0.0.1'), peer('b', 'n1', '10.0.0.2'), peer('c', 'n2', '10.0.0.3')] }, 'endpoint', 'ipv4'))).toEqual(['endpoint/v4/n1/a', 'endpoint/v4/n1/b', 'endpoint/v4/n2']);
  });

  it('multusInterface: every further interface, of the layer of endpoints', () => {
    const interfaces = [{ name: 'net2', family: 'v4', address: '10.9.0.9' }, { name: 'net1', family: 'v4', address: '10.8.0.8' }, { name: 'net1', family: 'v6', address: 'fd08::8' }, { name: 'net2', family: 'v4', address: '10.9.0.10' }] as const;
    const runners = [{ ...peer('a', 'node-1', '10.244.0.2'), interfaces: [...interfaces] }, peer('b', 'node-2', '10.244.1.2')];
    const { targets, gaps } = of({ runners }, 'multusInterface', 'endpoint', 'ipv4');
    expect(targets.map(({ id, layer, interface: name, url }) => [id, layer, name, new URL(url).host])).toEqual([
      ['endpoint/v4/node-1', 'endpoint', undefined, '10.244.0.2:8080'],
      ['endpoint/v4/node-2', 'endpoint', undefined, '10.244.1.2:8080'],
      ['endpoint/v4/node-1@net1', 'endpoint', 'net1', '10.8.0.8:8080'],
      ['endpoint/v4/node-1@net2/10.9.0.10', 'endpoint', 'net2', '10.9.0.10:8080'],
      ['endpoint/v4/node-1@net2/10.9.0.9', 'endpoint', 'net2', '10.9.0.9:8080'],
    ]);
    expect(gaps).toEqual(['spec.target.multusInterface over IPv4: no further interface with an IPv4 address of b']);
    expect(of({ runners: dual }, 'multusInterface', 'ipv6').gaps).toEqual(['spec.target.multusInterface over IPv6: no ready runner has a further interface with an IPv6 address']);
  });

  it('clusterIP, nodePort of every node, loadBalancer by address or name', () => {
    const { targets, gaps } = of({ paths: whole }, 'clusterIP', 'nodePort', 'loadBalancer', 'ipv4', 'ipv6');
    expect(targets.map(({ id, layer, node, family, url }) => [id, layer, node, family, url.replace('?task=shop.my.mesh.7', '')])).toEqual([
      ['clusterIP/v4', 'clusterIP', undefined, 'v4', 'http://10.96.1.1:80/'],
      ['clusterIP/v6', 'clusterIP', undefined, 'v6', 'http://[fd00:96::1]:80/'],
      ['nodePort/v4/node-1', 'nodePort', 'node-1', 'v4', 'http://172.18.0.2:30080/'],
      ['nodePort/v4/node-2', 'nodePort', 'node-2', 'v4', 'http://172.18.0.3:30080/'],
      ['nodePort/v6/node-1', 'nodePort', 'node-1', 'v6', 'http://[fd00:18::2]:30086/'],
      ['loadBalancer/v4', 'loadBalancer', undefined, 'v4', 'http://172.18.0.100:80/'],
      ['loadBalancer/v6', 'loadBalancer', undefined, 'v6', 'http://lb.example.com:80/'],
    ]);
    expect(gaps).toEqual(['spec.target.nodePort over IPv6: no IPv6 address on node-2']);
  });

  it('ingress: the URL of its rule, asked at every address of its controller', () => {
    expect(of({ paths: whole }, 'ingress', 'ipv4', 'ipv6').targets).toMatchObject([
      { id: 'ingress/v4', layer: 'ingress', family: 'v4', url: 'http://mesh.example.com/echo?task=shop.my.mesh.7', connect: { host: '172.18.0.101', port: 80 } },
      { id: 'ingress/v6', family: 'v6', url: 'http://mesh.example.com/echo?task=shop.my.mesh.7', connect: { host: 'fd00:18::101', port: 80 } },
    ]);
    const tls = { ...whole, ingress: { ...whole.ingress!, tls: true, path: '/', addresses: [{ hostname: 'b.example.com' }, { ip: '172.18.0.101' }, { hostname: 'b.example.com' }] } };
    expect(of({ paths: tls }, 'ingress', 'ipv4').targets).toMatchObject([
      { id: 'ingress/v4/172.18.0.101', url: 'https://mesh.example.com/?task=shop.my.mesh.7', connect: { host: '172.18.0.101', port: 443 } },
      { id: 'ingress/v4/b.example.com', connect: { host: 'b.example.com', port: 443 }, family: 'v4' },
    ]);
  });

  it('what has no address is told, with the reason that the runtime gives', () => {
    const bare: RuntimePaths = { services: [service('v4')], ingress: { ...whole.ingress!, addresses: [] } };
    const reasons = { services: 'Service mesh-v4: no address in the pool is free', ingress: 'no IngressClass is the default' };
    expect(netReach(factsOf({ paths: bare, runners: dual }), { target: asking(...ways, 'ipv4') } as NetReachSpec, reasons).gaps).toEqual([
      'spec.target.multusInterface over IPv4: no ready runner has a further interface with an IPv4 address',
      'spec.target.clusterIP over IPv4: Service mesh-v4 has no cluster address: Service mesh-v4: no address in the pool is free',
      'spec.target.nodePort over IPv4: Service mesh-v4 has no node port: Service mesh-v4: no address in the pool is free',
      'spec.target.loadBalancer over IPv4: Service mesh-v4 has no load balancer address: Service mesh-v4: no address in the pool is free',
      'spec.target.ingress over IPv4: Ingress mesh has no address: no IngressClass is the default',
    ]);
    expect(of({ paths: bare }, 'clusterIP', 'ingress', 'ipv6').gaps).toEqual(['spec.target.clusterIP over IPv6: the runtime has no Service for it', 'spec.target.ingress over IPv6: Ingress mesh has no address: no ingress controller serves it']);
  });

  it('what processes cannot have is told once, by its cause', () => {
    const facts = factsOf({ runners: dual, taskSpec: { target: asking('endpoint', 'clusterIP', 'ingress', 'ipv4', 'ipv6'), agentSpec: {} } });
    expect(notTestedOf(facts, { workloads: false }, {}).map((text) => text.split(': ')[0])).toEqual(['spec.target.clusterIP', 'spec.target.ingress', 'spec.agentSpec', 'spec.target.endpoint over IPv6']);
    expect(targetsOf(facts)('a').map(({ id }) => id)).toEqual(['endpoint/v4/node-1', 'endpoint/v4/node-2', 'endpoint/v6/node-1']);
  });

  it('names five of many and counts the rest', () => {
    const nodes = Array.from({ length: 500 }, (_, index) => ({ name: `node-${String(index).padStart(3, '0')}`, addresses: index === 0 ? [{ family: 'v6' as const, address: 'fd00::1' }] : [] }));
    expect(of({ paths: { ...whole, nodes } }, 'nodePort', 'ipv6').gaps).toEqual(['spec.target.nodePort over IPv6: no IPv6 address on node-001, node-002, node-003, node-004, node-005 and 494 others']);
  });
});

describe('whatever a cluster has and whatever is asked for', () => {
  const family = fc.constantFrom<Family>('v4', 'v6');
  const v4 = fc.ipV4();
  const v6 = fc.integer({ min: 1, max: 0xffff }).map((last) => `fd00::${last.toString(16)}`);
  const addresses = fc.tuple(fc.option(v4, { nil: undefined }), fc.option(v6, { nil: undefined })).map((both) => both.filter((address) => address !== undefined));
  const name = fc.constantFrom('n-1', 'n-2', 'n-3', 'n.4');
  const runners = fc.uniqueArray(
    fc.record({
      runner: fc.constantFrom('r-1', 'r-2.shop', 'r-3', 'r-4', 'n-1'),
      node: name,
      addresses,
      ports: fc.constant({ http: 8080 }),
      interfaces: fc.uniqueArray(fc.tuple(fc.constantFrom('net1', 'net2'), fc.oneof(v4, v6)).map(([net, address]) => ({ name: net, family: familyOf(address)!, address })), { selector: ({ name: net, address }) => `${net}${address}`, maxLength: 4 }),
    }),
    { selector: ({ runner }) => runner, maxLength: 5 },
  );
  const balancers = fc.array(fc.oneof(v4.map((ip) => ({ ip })), v6.map((ip) => ({ ip })), fc.constantFrom({ hostname: 'lb.example.com' }, { hostname: 'other.example.com' })), { maxLength: 3 });
  const services = fc.uniqueArray(
    fc.record({ family, name: fc.constant('s'), port: fc.constant(80), clusterIP: v4, nodePort: fc.integer({ min: 30_000, max: 32_767 }), loadBalancer: balancers }, { requiredKeys: ['family', 'name', 'port'] }),
    { selector: (one) => one.family, maxLength: 2 },
  );
  const nodes = fc.uniqueArray(fc.record({ name, addresses: addresses.map((some) => some.map((address) => ({ family: familyOf(address)!, address }))) }), { selector: (one) => one.name });
  const paths = fc.record({ services, nodes, ingress: fc.record({ name: fc.constant('i'), host: fc.constant('mesh.example.com'), path: fc.constant('/'), tls: fc.boolean(), addresses: balancers }) }, { requiredKeys: ['services'] });
  const target = fc.record(Object.fromEntries([...ways, 'ipv4', 'ipv6'].map((member) => [member, fc.boolean()])) as Record<Way | 'ipv4' | 'ipv6', fc.Arbitrary<boolean>>);

  /** How many targets each combination must have, counted in another way than they are made. */
  const expected = (facts: RoundFacts, way: Way, wanted: Family): number => {
    const { runners: all, paths: { services: some, nodes: on = [], ingress } = { services: [] } } = facts as Required<RoundFacts>;
    const one = some.find((each) => each.family === wanted);
    const hosts = (list: readonly { ip?: string | undefined; hostname?: string | undefined }[]): number => new Set(list.map(({ ip, hostname }) => ip ?? hostname ?? '').filter((host) => (familyOf(host) ?? wanted) === wanted)).size;
    switch (way) {
      case 'endpoint': return all.filter((each) => each.addresses?.some((address) => familyOf(address) === wanted)).length;
      case 'multusInterface': return all.flatMap((each) => each.interfaces ?? []).filter((each) => each.family === wanted).length;
      case 'clusterIP': return one?.clusterIP === undefined ? 0 : 1;
      case 'nodePort': return one?.nodePort === undefined ? 0 : on.filter((node) => node.addresses.some((address) => address.family === wanted)).length;
      case 'loadBalancer': return hosts(one?.loadBalancer ?? []);
      case 'ingress': return hosts(ingress?.addresses ?? []);
    }
  };
  const wayOf = ({ layer, interface: name }: HttpTarget): string => (layer === 'endpoint' && name !== undefined ? 'multusInterface' : layer);

  it('each combination has exactly its targets, or is told as not tested; ids are unique and do not depend on the order', () => {
    fc.assert(
      fc.property(runners, paths, target, fc.func(fc.integer()), (all, ways_, asked, shuffle) => {
        const facts = factsOf({ runners: all, paths: ways_ as RuntimePaths });
        const spec = { target: { ...asked, enableLatencyMetric: false } } as NetReachSpec;
        const { targets, gaps } = netReach(facts, spec, {});
        for (const way of ways) {
          for (const wanted of ['v4', 'v6'] as const) {
            const on = asked[way] && (wanted === 'v4' ? asked.ipv4 : asked.ipv6);
            const found = targets.filter((each) => wayOf(each) === way && each.family === wanted);
            expect(found).toHaveLength(on ? expected(facts, way, wanted) : 0);
            const told = gaps.filter((gap) => gap.startsWith(`spec.target.${way} over IP${wanted}: `));
            if (!on) expect(told).toEqual([]);
            else if (found.length === 0 && (all.length > 0 || (way !== 'endpoint' && way !== 'multusInterface'))) expect(told).toHaveLength(1);
          }
        }
        expect(new Set(targets.map(({ id }) => id)).size).toBe(targets.length);
        for (const each of targets) {
          expect(probeTargetSchema.safeParse(each).success).toBe(true);
          const literal = familyOf((each.connect?.host ?? new URL(each.url).hostname).replace(/^\[|\]$/g, ''));
          if (literal !== undefined && each.layer !== 'clusterIP') expect(literal).toBe(each.family);
        }
        const mix = <T>(list: readonly T[]): T[] => [...list].sort((a, b) => shuffle(JSON.stringify(a)) - shuffle(JSON.stringify(b)));
        const mixed = factsOf({
          runners: mix(all.map((one) => ({ ...one, interfaces: mix(one.interfaces) }))),
          paths: {
            services: mix(ways_.services as RuntimeService[]).map((one) => ({ ...one, ...(one.loadBalancer === undefined ? {} : { loadBalancer: mix(one.loadBalancer) }) })),
            ...(ways_.nodes === undefined ? {} : { nodes: mix(ways_.nodes) }),
            ...(ways_.ingress === undefined ? {} : { ingress: { ...ways_.ingress, addresses: mix(ways_.ingress.addresses) } }),
          },
        });
        expect(netReach(mixed, spec, {})).toEqual({ targets, gaps });
      }),
      { numRuns: 500 },
    );
  });
});
