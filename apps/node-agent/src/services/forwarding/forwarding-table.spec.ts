import { describe, expect, it } from '@jest/globals';
import type { Endpoint } from '@roundsman/api';
import * as fc from 'fast-check';
import { emptyState, endpoint, service, slice, slicesResource } from '../testing/objects.ts';
import { forwardingTable } from './forwarding-table.ts';
import type { ForwardedPort } from './table.ts';

const here = new Set(['here']);
const portsOf = (spec: Parameters<typeof service>[1], slices: ReturnType<typeof slice>[] = [], balancers: readonly string[] = []): readonly ForwardedPort[] => {
  const state = emptyState();
  state.apply('ADDED', 'services', service('web', spec, balancers));
  for (const one of slices) state.apply('ADDED', slicesResource, one);
  return forwardingTable(state, here).ports;
};
const only = (ports: readonly ForwardedPort[]): ForwardedPort => {
  expect(ports).toHaveLength(1);
  return ports[0] as ForwardedPort;
};

describe('the forwarding table', () => {
  it.each([
    ['a headless Service', { clusterIP: 'None' }],
    ['a Service without an address yet', { clusterIP: '' }],
    ['a name for something outside', { type: 'ExternalName' as const, externalName: 'example.com' }],
  ])('has nothing of %s', (_what, spec) => {
    expect(portsOf(spec, [slice('web', [endpoint('10.244.0.1', 'here')])])).toEqual([]);
  });

  it('finds the port of each slice by the name of the port, with the number that slice says', () => {
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const, targetPort: 'web' }, { name: 'dns', port: 53, protocol: 'UDP' as const, targetPort: 53 }];
    const slices = [
      slice('web', [endpoint('10.244.0.1', 'here')], { name: 'one', ports: [{ name: 'http', protocol: 'TCP', port: 8080 }, { name: 'dns', protocol: 'UDP', port: 53 }] }),
      slice('web', [endpoint('10.244.0.2', 'here')], { name: 'two', ports: [{ name: 'http', protocol: 'TCP', port: 9090 }, { name: 'other', protocol: 'TCP', port: 1 }] }),
    ];
    const [http, dns] = portsOf({ clusterIP: '10.96.0.1', ports }, slices);
    expect(http).toMatchObject({ key: 'default/web/80-tcp-ip', endpoints: [{ address: '10.244.0.1', port: 8080 }, { address: '10.244.0.2', port: 9090 }] });
    expect(dns).toMatchObject({ key: 'default/web/53-udp-ip', endpoints: [{ address: '10.244.0.1', port: 53 }] });
  });

  it('has a port per family, each with endpoints, addresses and source ranges of its own', () => {
    const [four, six] = portsOf(
      { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00:96::1'], type: 'LoadBalancer', externalIPs: ['192.0.2.7', '2001:db8::7'], loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/8'], ports: [{ port: 80, nodePort: 30_000, protocol: 'TCP' }] },
      [slice('web', [endpoint('10.244.0.1', 'here')]), slice('web', [endpoint('fd00:244::1', 'there')], { name: 'six', addressType: 'IPv6' })],
      ['198.51.100.1', '2001:db8::1'],
    );
    expect(four).toMatchObject({ family: 'IPv4', clusterIP: '10.96.0.1', nodePort: 30_000, externalIPs: ['192.0.2.7'], loadBalancerIPs: ['198.51.100.1'], sourceRanges: ['10.0.0.0/8'], endpoints: [{ address: '10.244.0.1' }] });
    expect(six).toMatchObject({ family: 'IPv6', clusterIP: 'fd00:96::1', nodePort: 30_000, externalIPs: ['2001:db8::7'], loadBalancerIPs: ['2001:db8::1'], sourceRanges: ['fd00::/8'], endpoints: [{ address: 'fd00:244::1' }], localEndpoints: [] });
  });

  describe('of a Service that prefers what is near (EndpointSlices with hints)', () => {
    const zoned = (address: string, node: string, zone: string | undefined, conditions: Endpoint['conditions'] = {}): Endpoint => ({ ...endpoint(address, node, conditions), ...(zone === undefined ? {} : { hints: { forZones: [{ name: zone }] } }) });
    const node = (name: string, zone: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, resourceVersion: '1', labels: { 'topology.kubernetes.io/zone': zone } }, spec: {}, status: {} });
    const chosen = (endpoints: readonly Endpoint[], nodes: Readonly<Record<string, string>>, localNodes: ReadonlySet<string> = here): string[] => {
      const state = emptyState();
      state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.0.1', trafficDistribution: 'PreferClose' }));
      state.apply('ADDED', slicesResource, slice('web', endpoints));
      for (const [name, zone] of Object.entries(nodes)) state.apply('ADDED', 'nodes', node(name, zone));
      const port = only(forwardingTable(state, localNodes).ports);
      expect(port.serving).toHaveLength(endpoints.filter(({ conditions }) => conditions?.ready !== false || conditions.serving === true).length);
      return port.endpoints.map(({ address }) => address);
    };
    const [east, alsoEast, west] = [zoned('10.244.0.1', 'here', 'east'), zoned('10.244.0.2', 'there', 'east'), zoned('10.244.0.3', 'far', 'west')];

    it('takes those of the zone, and all where the zone has none, or is not told', () => {
      expect(chosen([east, alsoEast, west], { here: 'east' })).toEqual(['10.244.0.1', '10.244.0.2']);
      expect(chosen([east, alsoEast, west], { here: 'west' })).toEqual(['10.244.0.3']);
      expect(chosen([east, west], { here: 'north' })).toEqual(['10.244.0.1', '10.244.0.3']);
      expect(chosen([east, west], {})).toEqual(['10.244.0.1', '10.244.0.3']);
      expect(chosen([east, west], { here: '' })).toEqual(['10.244.0.1', '10.244.0.3']);
    });

    it('takes all while one that is ready has no hint; those that are not ready need none', () => {
      expect(chosen([east, west, zoned('10.244.0.4', 'new', undefined)], { here: 'east' })).toEqual(['10.244.0.1', '10.244.0.3', '10.244.0.4']);
      expect(chosen([east, west, zoned('10.244.0.4', 'new', undefined, { ready: false })], { here: 'east' })).toEqual(['10.244.0.1']);
    });

    it('goes on to another zone when that one has none that is ready, and to those that end when there are no others', () => {
      const ending = zoned('10.244.0.1', 'here', 'east', { ready: false, serving: true, terminating: true });
      expect(chosen([ending, west], { here: 'east' })).toEqual(['10.244.0.3']);
      expect(chosen([ending], { here: 'east' })).toEqual(['10.244.0.1']);
    });

    it('knows the zone of a machine only when all of its nodes are in it', () => {
      const both = new Set(['here', 'there']);
      expect(chosen([east, west], { here: 'east', there: 'east' }, both)).toEqual(['10.244.0.1']);
      expect(chosen([east, west], { here: 'east', there: 'west' }, both)).toEqual(['10.244.0.1', '10.244.0.3']);
    });
  });

  it('node ports and load balancer addresses of a Service that is of no such type any more do not count', () => {
    const port = only(portsOf({ clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_000, protocol: 'TCP' }] }, [], ['198.51.100.1']));
    expect(port).toMatchObject({ nodePort: undefined, loadBalancerIPs: [] });
  });

  it('keeps clients as long as the Service says, three hours unless it does', () => {
    expect(only(portsOf({ clusterIP: '10.96.0.1' })).affinitySeconds).toBeUndefined();
    expect(only(portsOf({ clusterIP: '10.96.0.1', sessionAffinity: 'ClientIP' })).affinitySeconds).toBe(10_800);
    expect(only(portsOf({ clusterIP: '10.96.0.1', sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } })).affinitySeconds).toBe(5);
  });

  it('counts for health checks the pods of this node', () => {
    const state = emptyState();
    const ports = [{ name: 'a', port: 80, protocol: 'TCP' as const }, { name: 'b', port: 81, protocol: 'TCP' as const }];
    state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.0.1', type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000, ports }));
    state.apply('ADDED', slicesResource, slice('web', [endpoint('10.244.0.1', 'here'), endpoint('10.244.0.2', 'there')], { ports: ports.map(({ name, port }) => ({ name, port, protocol: 'TCP' })) }));
    expect(forwardingTable(state, here).healthChecks).toEqual([{ namespace: 'default', name: 'web', port: 32_000, localEndpoints: 1 }]);
  });

  const endpointArb = fc.record({
    address: fc.integer({ min: 1, max: 6 }).map((number) => `10.244.0.${number}`),
    node: fc.constantFrom('here', 'there'),
    ready: fc.constantFrom(true, false, undefined),
    serving: fc.constantFrom(true, false, undefined),
    terminating: fc.constantFrom(true, false, undefined),
  });

  it('takes the ready ones; where none is, those that end and serve still; the same for those of this node alone', () => {
    fc.assert(
      fc.property(fc.uniqueArray(endpointArb, { selector: ({ address }) => address }), fc.nat(3), (given, cut) => {
        const made = given.map(({ address, node, ready, serving, terminating }) => endpoint(address, node, { ready, serving, terminating } as Endpoint['conditions']));
        const slices = (all: typeof made) => [slice('web', all.slice(0, cut)), slice('web', all.slice(cut), { name: 'rest' })];
        const port = only(portsOf({ clusterIP: '10.96.0.1' }, slices(made)));
        const wanted = (among: typeof given): string[] => {
          const ready = among.filter((one) => one.ready !== false);
          return (ready.length > 0 ? ready : among.filter((one) => one.terminating === true && (one.serving ?? one.ready) !== false)).map(({ address }) => address).sort();
        };
        expect(port.endpoints.map(({ address }) => address)).toEqual(wanted(given));
        expect(port.localEndpoints.map(({ address }) => address)).toEqual(wanted(given.filter(({ node }) => node === 'here')));
        // The order in which they are told changes nothing.
        expect(only(portsOf({ clusterIP: '10.96.0.1' }, slices(made.toReversed())))).toEqual(port);
      }),
    );
  });
});
