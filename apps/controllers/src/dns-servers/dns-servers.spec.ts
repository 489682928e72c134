import { describe, expect, it } from '@jest/globals';
import type { AnyTask, KubeObject, Service, TaskStatus } from '@roundsman/api';
import { MemoryCluster, resources } from '@roundsman/cluster';
import { eventually } from '@roundsman/testkit';
import type { Deps } from '../loop.ts';
import { DnsServers } from './dns-servers.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const task = (status: object = {}, target: object = { targetDns: { testIPv4: true, testIPv6: false } }): AnyTask =>
  ({ apiVersion: 'roundsman.io/v1', kind: 'NetDNS', metadata: { name: 'dns', namespace: 'default', generation: 2 }, spec: { target, request: { protocol: 'udp' } }, status }) as unknown as AnyTask;
const told = ({ conditions, dnsServers }: TaskStatus): unknown => [conditions?.map(({ type, status, reason, lastTransitionTime }) => `${type} ${status} ${reason} ${lastTransitionTime}`), dnsServers?.map(({ address }) => address)];

/** A cluster whose Services are listed only when the test lets them. */
function held(): { cluster: MemoryCluster; list: () => void } {
  const cluster = new MemoryCluster();
  const listed = Promise.withResolvers<void>();
  const follow = cluster.follow.bind(cluster);
  cluster.follow = <T extends KubeObject>(...of: Parameters<typeof follow>) => ({ ...follow<T>(...of), synced: () => listed.promise, problem: () => 'services are not listed yet: connect ECONNREFUSED' });
  return { cluster, list: () => listed.resolve() };
}
const addService = (cluster: MemoryCluster, clusterIP: string): Service => cluster.change<Service>(resources.services, 'kube-system', 'kube-dns', (service) => Object.assign(service, { spec: { clusterIP, ports: [{ port: 53, protocol: 'UDP' }] } }));

describe('the status of a NetDNS with targetDns', () => {
  it('has its servers, and follows the Services of the cluster', async () => {
    const cluster = new MemoryCluster();
    const tasks = [task(), task({}, { targetUser: { server: '1.1.1.1' } })];
    const servers = new DnsServers({ cluster, caches: { tasks: { NetDNS: { list: () => tasks } } }, settings: { dnsServerLabel: 'a=b', runtimeWaitMs: 1000 } } as unknown as Deps);
    const woken: string[] = [];
    const end = await servers.wakes(({ metadata }) => metadata.name)((key) => woken.push(key));
    expect(servers.into(tasks[1] as AnyTask, { doneRound: 1 }, now)).toEqual({ doneRound: 1 });
    servers.into(task(), {}, now);
    await eventually(() => expect(woken).toEqual(['dns']));
    const before = servers.into(task(), { doneRound: 1 }, now);
    expect(told(before)).toEqual([['TargetsFound False ServiceNotFound 2026-01-01T00:00:00Z'], []]);
    addService(cluster, '10.96.0.10');
    expect(woken).toEqual(['dns', 'dns']);
    const found = servers.into(task(before), {}, now + 5000);
    expect(told(found)).toEqual([['TargetsFound True ServersFound 2026-01-01T00:00:05Z'], ['10.96.0.10']]);
    addService(cluster, '10.96.0.11');
    expect(told(servers.into(task(found), {}, now + 9000))).toEqual([['TargetsFound True ServersFound 2026-01-01T00:00:05Z'], ['10.96.0.11']]);
    await end();
    addService(cluster, '10.96.0.12');
    expect(woken).toHaveLength(3);
  });

  it('says nothing new before it knows; after a while, that it does not', async () => {
    const { cluster, list } = held();
    addService(cluster, '10.96.0.10');
    const servers = new DnsServers({ cluster, caches: { tasks: { NetDNS: { list: () => [] } } }, settings: { dnsServerLabel: 'a=b', runtimeWaitMs: 1000 } } as unknown as Deps);
    expect(servers.into(task(), {}, now)).toEqual({});
    const late = servers.into(task(), {}, now + 1000);
    expect(late.conditions?.[0]).toMatchObject({ status: 'Unknown', reason: 'ClusterUnreachable', message: 'spec.target.targetDns: services are not listed yet: connect ECONNREFUSED.' });
    const known = { dnsServers: [{ service: 'x/y', address: '10.96.0.9', port: 53 }], conditions: [{ type: 'TargetsFound', status: 'True', reason: 'ServersFound', message: '', observedGeneration: 2, lastTransitionTime: '2025-01-01T00:00:00Z' }] };
    expect(servers.into(task(known), {}, now)).toEqual(known);
    // Found for another spec.
    expect(servers.into(task({ ...known, conditions: [{ ...known.conditions[0], observedGeneration: 1 }] }), {}, now)).toEqual({});
    list();
    await eventually(() => expect(told(servers.into(task(known), {}, now))).toEqual([['TargetsFound True ServersFound 2025-01-01T00:00:00Z'], ['10.96.0.10']]));
  });
});
