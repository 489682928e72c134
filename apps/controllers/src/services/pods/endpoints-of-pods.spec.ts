import { describe, expect, it } from '@jest/globals';
import type { Node, Pod, Service } from '@roundsman/api';
import { sliceGroupsOf } from '../slices/slice-groups.ts';
import { addressLimit, subsetsOf } from '../endpoints/subsets.ts';
import { TriggerTimes } from './trigger-times.ts';

const service = (spec: object = {}): Service =>
  ({ metadata: { namespace: 'default', name: 'web', uid: 's', creationTimestamp: '2026-01-01T00:00:00Z' }, spec: { type: 'ClusterIP', selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP' }], ipFamilies: ['IPv4'], ...spec } }) as unknown as Service;
interface Parts {
  readonly ips?: string[];
  readonly ready?: boolean;
  readonly since?: string;
  readonly going?: boolean;
  readonly phase?: string;
  readonly spec?: object;
}
const pod = (name: string, { ips = ['10.0.0.1'], ready = true, since = '2026-01-01T00:00:05Z', going = false, phase = 'Running', spec = {} }: Parts = {}): Pod =>
  ({
    metadata: { namespace: 'default', name, uid: name, ...(going ? { deletionTimestamp: '2026-01-01T00:00:30Z' } : {}) },
    spec: { nodeName: 'n', containers: [{ name: 'c' }], ...spec },
    status: { phase, podIP: ips[0], podIPs: ips.map((ip) => ({ ip })), conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: since }] },
  }) as unknown as Pod;
const node = (labels: object = {}, ready = 'True'): Node => ({ metadata: { name: 'n', labels }, spec: {}, status: { conditions: [{ type: 'Ready', status: ready }] } }) as unknown as Node;

describe('the endpoints in slices', () => {
  const of = (one: Service, pods: readonly Pod[], on = node()) => sliceGroupsOf(one, pods, () => on);

  it('are told by family; a pod without an address of one is not in it', () => {
    const groups = of(service({ ipFamilies: ['IPv4', 'IPv6'] }), [pod('a', { ips: ['10.0.0.1', 'fd00::1'] }), pod('b', { ips: ['10.0.0.2'] })]);
    expect(groups.map(({ addressType, endpoints }) => [addressType, endpoints.map(({ addresses }) => addresses.join())])).toEqual([['IPv4', ['10.0.0.1', '10.0.0.2']], ['IPv6', ['fd00::1']]]);
  });

  it.each<[string, Parts, object, string, object | undefined]>([
    ['ready', {}, {}, 'True', { ready: true, serving: true, terminating: false }],
    ['not ready', { ready: false }, {}, 'True', { ready: false, serving: false, terminating: false }],
    ['not ready, and published all the same', { ready: false }, { publishNotReadyAddresses: true }, 'True', { ready: true, serving: false, terminating: false }],
    ['going', { going: true }, {}, 'True', { ready: false, serving: true, terminating: true }],
    ['on a node that nobody hears', {}, {}, 'Unknown', { ready: false, serving: false, terminating: false }],
    ['done', { phase: 'Succeeded' }, {}, 'True', undefined],
    ['without an address', { ips: [] }, {}, 'True', undefined],
  ])('a pod that is %s', (_what, parts, spec, ready, conditions) => expect(of(service(spec), [pod('a', parts)], node({}, ready))[0]?.endpoints[0]?.conditions).toEqual(conditions));

  it('have the zone of their node, and keep traffic near where the service says so', () => {
    const zoned = node({ 'topology.kubernetes.io/zone': 'east' });
    expect(of(service(), [pod('a')], zoned)[0]?.endpoints[0]).toMatchObject({ zone: 'east', nodeName: 'n' });
    expect(of(service(), [pod('a')], zoned)[0]?.endpoints[0]?.hints).toBeUndefined();
    expect(of(service({ trafficDistribution: 'PreferClose' }), [pod('a')], zoned)[0]?.endpoints[0]?.hints).toEqual({ forZones: [{ name: 'east' }] });
  });

  it('have a name only below the service that their pod says it is in', () => {
    const named = (subdomain: string) => of(service({ clusterIP: 'None' }), [pod('a', { spec: { hostname: 'a', subdomain } })])[0]?.endpoints[0]?.hostname;
    expect([named('web'), named('other')]).toEqual(['a', undefined]);
  });

  it('have ports by number, or by the name and protocol that a container or a sidecar gives them', () => {
    const ports = (targetPort: unknown, protocol = 'TCP') =>
      of(service({ ports: [{ name: 'x', port: 80, targetPort, protocol, appProtocol: 'http' }] }), [
        pod('a', { spec: { containers: [{ ports: [{ name: 'web', containerPort: 8080, protocol: 'TCP' }] }], initContainers: [{ restartPolicy: 'Always', ports: [{ name: 'proxy', containerPort: 15000, protocol: 'TCP' }] }, { ports: [{ name: 'once', containerPort: 1, protocol: 'TCP' }] }] } }),
      ])[0]?.ports.map(({ port }) => port);
    expect([ports(9090), ports('web'), ports('proxy'), ports('web', 'UDP'), ports('once')]).toEqual([[9090], [8080], [15000], [], []]);
  });
});

describe('the addresses in Endpoints', () => {
  const text = (one: Service, pods: readonly Pod[]) => subsetsOf(one, pods, () => node()).subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [addresses.map(({ ip }) => ip).join(' '), notReadyAddresses.map(({ ip }) => ip).join(' '), ports.map(({ port }) => port).join(' ')]);

  it('are those that are ready and those that are not, in one order; who goes has left', () => {
    const pods = [pod('c', { ips: ['10.0.0.10'] }), pod('a', { ips: ['10.0.0.9'] }), pod('b', { ips: ['10.0.0.2'], ready: false }), pod('d', { ips: ['10.0.0.3'], going: true })];
    expect(text(service(), pods)).toEqual([['10.0.0.9 10.0.0.10', '10.0.0.2', '80']]);
    expect(text(service(), pods.toReversed())).toEqual(text(service(), pods));
  });
  it('are all of them, ready, where those that are not are published', () => {
    expect(text(service({ publishNotReadyAddresses: true }), [pod('a', { ready: false }), pod('b', { ips: ['10.0.0.2'], going: true })])).toEqual([['10.0.0.1 10.0.0.2', '', '80']]);
  });
  it('have no ports where a headless service has none', () => expect(text(service({ clusterIP: 'None', ports: undefined }), [pod('a')])).toEqual([['10.0.0.1', '', '']]));
  it('are so many at most, those that are ready first', () => {
    const many = Array.from({ length: addressLimit + 5 }, (_, index) => pod(`p${index}`, { ips: [`10.0.${index >> 8}.${index & 255}`], ready: index >= 5 }));
    const { subsets, truncated } = subsetsOf(service(), many, () => node());
    expect([subsets[0]?.addresses?.length, subsets[0]?.notReadyAddresses, truncated]).toEqual([addressLimit, undefined, true]);
  });
});

it('the time of a change is that of the earliest thing that has changed since', () => {
  const times = new TriggerTimes();
  const at = (seconds: number): string => `2026-01-01T00:00:${String(seconds).padStart(2, '0')}Z`;
  expect(times.since('k', service(), [pod('a', { since: at(5) })])).toBe(at(0));
  expect(times.since('k', service(), [pod('a', { since: at(5) })])).toBeUndefined();
  expect(times.since('k', service(), [pod('a', { since: at(9) }), pod('b', { since: at(7) })])).toBe(at(7));
});
