import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterNetworkSchema, type ClusterNetwork, type KubeObject, type Service } from '@roundsman/api';
import { messages, type Bus, type Write } from '@roundsman/bus';
import { runServices, type RunningServices } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { pino } from 'pino';
import { service } from '../index.ts';

let postgres: TestPostgres;
let nats: TestNats;
let url: string;
let bus: Bus;
let running: RunningServices[] = [];
beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres({ prepare: migrateStore }), startNats()]);
});
afterAll(() => Promise.all([postgres.stop(), nats.stop()]));
beforeEach(async () => {
  url = await postgres.createDatabase();
  bus = await nats.connect('tester');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((services) => services.stop()));
  await bus.close();
});

async function start(settings: Record<string, string> = {}): Promise<RunningServices> {
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`ROUNDSMAN_INTAKE_${name}`, value]));
  const services = await runServices([{ definition: service }], { env, log: pino({ level: 'silent' }), databaseUrl: url, connect: (identity) => nats.connect(identity) });
  running.push(services);
  return services;
}
const stop = async (services: RunningServices): Promise<void> => {
  running = running.filter((one) => one !== services);
  await services.stop();
};
const problem = (settings: Record<string, string>): Promise<string> => start(settings).then(() => 'it started', (error: Error) => error.message);
const write = async (one: Partial<Write>): Promise<KubeObject> => (await bus.request(messages.write, {}, { operation: 'create', resource: 'services', namespace: 'default', user: 'system:roundsman:tester', ...one })).object as unknown as KubeObject;
const web = (name: string, spec: object = {}): Partial<Write> => ({ name, object: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } } });
const ask = (asked: { seen?: number; after?: string } = {}) => bus.request(messages.networkState, {}, asked);
const named = (objects: readonly { resource: string; object: { metadata: { name: string } } }[] | undefined, resource: string): string[] => (objects ?? []).filter((one) => one.resource === resource).map(({ object }) => object.metadata.name);

describe('what every cluster has', () => {
  it('its addresses are written down, its own Services have theirs', async () => {
    await start();
    const config = await bus.request(messages.get, {}, { resource: 'configmaps', namespace: 'kube-system', name: 'cluster-network' });
    const network = clusterNetworkSchema.parse(JSON.parse((config['data'] as Record<string, string>)['network.json']!));
    expect(network).toEqual({
      podCidrs: ['10.244.0.0/16'], nodePrefixes: [24], serviceCidrs: ['10.96.0.0/16'], loadBalancerCidrs: ['10.97.0.0/24'], nodePorts: { first: 30_000, last: 32_767 },
      domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw',
    } satisfies ClusterNetwork);
    const { network: told, objects } = await ask();
    expect(told).toEqual(network);
    expect([named(objects, 'services').sort(), named(objects, 'ingressclasses.networking.k8s.io')]).toEqual([['ingress', 'kube-dns', 'kubernetes', 'nats'], ['roundsman']]);
    const [dns] = objects!.filter(({ object }) => object.metadata.name === 'kube-dns').map(({ object }) => (object as unknown as Service).spec);
    expect(dns).toMatchObject({ clusterIP: '10.96.0.10', internalTrafficPolicy: 'Local', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }, { name: 'dns-tcp', port: 53, protocol: 'TCP' }] });
    const ingress = await write({ resource: 'ingresses.networking.k8s.io', name: 'a', object: { metadata: { name: 'a' }, spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } } });
    expect(ingress).toMatchObject({ spec: { ingressClassName: 'roundsman' } });
  });

  it('its own Services are made again when they are deleted, at their addresses', async () => {
    await start();
    const service = async (name: string): Promise<KubeObject | undefined> => (await bus.request(messages.get, {}, { resource: 'services', namespace: 'kube-system', name }).catch(() => undefined)) as KubeObject | undefined;
    const before = { dns: await service('kube-dns'), ingress: await service('ingress') };
    await Promise.all(['kube-dns', 'ingress'].map((name) => write({ operation: 'delete', namespace: 'kube-system', name })));
    await eventually(async () => {
      const [dns, ingress] = [await service('kube-dns'), await service('ingress')];
      expect(dns).toMatchObject({ spec: { clusterIP: '10.96.0.10' } });
      expect(ingress).toMatchObject({ spec: { type: 'LoadBalancer' } });
      expect([dns?.metadata.uid === before.dns?.metadata.uid, ingress?.metadata.uid === before.ingress?.metadata.uid]).toEqual([false, false]);
    });
  });

  it('of two families where it is set so', async () => {
    await start({ POD_CIDRS: '10.1.0.0/16, fd00:1::/56', NODE_PREFIXES: '25,72', SERVICE_CIDRS: '10.2.0.0/24,fd00:2::/112', LOAD_BALANCER_CIDRS: 'none', NODE_PORTS: '20000-20100', CLUSTER_DOMAIN: 'home.arpa', NETWORK_BACKEND: 'vxlan' });
    expect((await ask()).network).toEqual({
      podCidrs: ['10.1.0.0/16', 'fd00:1::/56'], nodePrefixes: [25, 72], serviceCidrs: ['10.2.0.0/24', 'fd00:2::/112'], loadBalancerCidrs: [], nodePorts: { first: 20_000, last: 20_100 },
      domain: 'home.arpa', dnsAddresses: ['10.2.0.10', 'fd00:2::a'], backend: 'vxlan',
    });
    expect(await write(web('a', { ipFamilyPolicy: 'RequireDualStack', type: 'NodePort' }))).toMatchObject({ spec: { ipFamilies: ['IPv4', 'IPv6'] } });
  });
});

describe('settings that cannot be', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no range', { POD_CIDRS: '10.244.0.0' }, 'ROUNDSMAN_INTAKE_POD_CIDRS: "10.244.0.0" is not a CIDR range such as 10.244.0.0/16 (it is "10.244.0.0")'],
    ['ranges with an address in common', { SERVICE_CIDRS: '10.244.128.0/20' }, 'ROUNDSMAN_INTAKE_SERVICE_CIDRS: 10.244.128.0/20 overlaps with 10.244.0.0/16 of ROUNDSMAN_INTAKE_POD_CIDRS (it is "10.244.128.0/20")'],
    ['the pool in the services', { LOAD_BALANCER_CIDRS: '10.96.8.0/24' }, 'ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS: 10.96.8.0/24 overlaps with 10.96.0.0/16 of ROUNDSMAN_INTAKE_SERVICE_CIDRS (it is "10.96.8.0/24")'],
    ['other families', { POD_CIDRS: '10.244.0.0/16,fd00::/56' }, 'ROUNDSMAN_INTAKE_SERVICE_CIDRS: must have the same families as ROUNDSMAN_INTAKE_POD_CIDRS'],
    ['two of one family', { POD_CIDRS: '10.244.0.0/16,10.245.0.0/16' }, 'ROUNDSMAN_INTAKE_POD_CIDRS: must name one range per family at most (it is "10.244.0.0/16,10.245.0.0/16")'],
    ['nodes without room', { NODE_PREFIXES: '31' }, 'ROUNDSMAN_INTAKE_NODE_PREFIXES: must be from 16 to 30 for 10.244.0.0/16 (it is "31")'],
    ['ports the wrong way', { NODE_PORTS: '32000-31000' }, 'ROUNDSMAN_INTAKE_NODE_PORTS: must be two ports such as 30000-32767, the first one below the second: the ingress of the cluster takes two (it is "32000-31000")'],
    ['a single port', { NODE_PORTS: '32000-32000' }, 'ROUNDSMAN_INTAKE_NODE_PORTS: must be two ports such as 30000-32767'],
    ['another backend', { NETWORK_BACKEND: 'wires' }, 'ROUNDSMAN_INTAKE_NETWORK_BACKEND: Invalid option: expected one of "host-gw"|"vxlan" (it is "wires")'],
  ])('%s', async (_what, settings, expected) => expect(await problem(settings)).toContain(expected));

  it('exclude what was given out already', async () => {
    const first = await start();
    await write(web('a', { clusterIP: '10.96.9.9', type: 'NodePort', ports: [{ port: 80, nodePort: 31_999 }] }));
    await write({ resource: 'nodes', namespace: undefined as never, name: 'n1', object: { metadata: { name: 'n1' }, spec: { podCIDRs: ['10.244.3.0/24'] } } });
    await stop(first);
    expect(await problem({ SERVICE_CIDRS: '10.96.0.0/28' })).toMatch(/ROUNDSMAN_INTAKE_SERVICE_CIDRS: Service \S+ has the address 10\.96\.\S+, which is not in 10\.96\.0\.0\/28: keep a range that holds it, or delete the Service first/);
    expect(await problem({ NODE_PORTS: '30000-30001' })).toMatch(/ROUNDSMAN_INTAKE_NODE_PORTS: Service \S+ has the port 3\d+, which is not in 30000-30001: keep a range that holds it, or delete the Service first/);
    expect(await problem({ POD_CIDRS: '10.245.0.0/16' })).toContain('ROUNDSMAN_INTAKE_POD_CIDRS: node n1 has the pod CIDR 10.244.3.0/24, which is not in 10.245.0.0/16');
    expect(await problem({ NODE_PREFIXES: '25' })).toContain('ROUNDSMAN_INTAKE_NODE_PREFIXES: node n1 has the pod CIDR 10.244.3.0/24, which is no /25');
    // A wider range holds all of it.
    await start({ SERVICE_CIDRS: '10.96.0.0/15', LOAD_BALANCER_CIDRS: '10.99.0.0/24' });
    await expect(write(web('b', { clusterIP: '10.96.9.9' }))).rejects.toThrow('provided IP is already allocated');
    await expect(write(web('b', { type: 'NodePort', ports: [{ port: 80, nodePort: 31_999 }] }))).rejects.toThrow('provided port is already allocated');
  });
});

describe('how packets go', () => {
  const node = (name: string, more: { annotations?: Record<string, string>; labels?: Record<string, string>; podCIDRs?: string[]; ready?: string; heard?: string }): Partial<Write> => ({
    resource: 'nodes', namespace: undefined as never, name,
    object: {
      metadata: { name, annotations: { 'example.com/other': 'x', ...more.annotations }, labels: { 'example.com/other': 'x', ...more.labels } },
      spec: more.podCIDRs === undefined ? {} : { podCIDRs: more.podCIDRs },
      status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }], capacity: { cpu: '1' }, conditions: [{ type: 'Ready', status: more.ready ?? 'True', lastHeartbeatTime: more.heard ?? null, lastTransitionTime: null }] },
    },
  });

  it('each change names the one before it; of nodes only what matters is told, and only then', async () => {
    await start();
    const heard: { type: string; version: number; previous: number; resource: string; object: KubeObject }[] = [];
    const subscription = await bus.subscribe(messages.networkChange, {}, ({ payload }) => void heard.push(payload as unknown as (typeof heard)[number]));
    const { version: before } = await ask();
    await write(node('n1', { annotations: { 'roundsman.io/network-mode': 'namespace' }, labels: { 'topology.kubernetes.io/zone': 'east' }, podCIDRs: ['10.244.0.0/24'] }));
    const status = (more: Parameters<typeof node>[1]): Promise<KubeObject> => write({ ...node('n1', more), operation: 'updateStatus' });
    await status({ heard: '2026-01-01T00:00:00Z' });
    await status({ heard: '2026-01-01T00:00:02Z' });
    await status({ ready: 'Unknown' });
    await write({ resource: 'configmaps', name: 'a', object: { metadata: { name: 'a' }, data: {} } });
    await write(web('a'));
    await write({ operation: 'delete', name: 'a' });
    await eventually(() => expect(heard.map(({ type, resource, object }) => `${type} ${resource} ${object.metadata.name}`)).toEqual(['ADDED nodes n1', 'MODIFIED nodes n1', 'ADDED services a', 'DELETED services a']));
    expect(heard.map(({ previous }) => previous)).toEqual([before, ...heard.map(({ version }) => version).slice(0, -1)]);
    const { uid, resourceVersion } = heard[0]!.object.metadata;
    expect(heard[0]!.object).toEqual({
      apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid, resourceVersion, annotations: { 'roundsman.io/network-mode': 'namespace' }, labels: { 'topology.kubernetes.io/zone': 'east' } }, spec: { podCIDRs: ['10.244.0.0/24'] },
      status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }], conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const { version } = heard.at(-1)!;
    expect(await ask({ seen: version })).toEqual({ version, network: expect.anything() });
    expect(named((await ask({ seen: version - 1 })).objects, 'nodes')).toEqual(['n1']);
    await subscription.stop();
  });

  it('comes in pages that a message can carry', async () => {
    await start();
    const large = 'x'.repeat(100_000);
    await Promise.all(Array.from({ length: 20 }, (_, index) => write({ ...web(`s${index}`), object: { metadata: { name: `s${index}`, annotations: { large } }, spec: { ports: [{ port: 80 }] } } })));
    const names: string[] = [];
    let pages = 0;
    for (let page = await ask(); ; page = await ask({ after: page.next! })) {
      pages++;
      names.push(...named(page.objects, 'services'));
      if (page.next === undefined) break;
    }
    expect([pages > 2, new Set(names).size, names.length]).toEqual([true, 24, 24]);
  });

  it('ingress proxies are given the TLS secrets that ingresses name in their own namespace, and no others', async () => {
    await start();
    const secret = (namespace: string, name: string, type: string): Promise<KubeObject> => write({ resource: 'secrets', namespace, name, object: { metadata: { name }, type, data: { 'tls.crt': 'YQ==', 'tls.key': 'YQ==' } } });
    await Promise.all([secret('default', 'named', 'kubernetes.io/tls'), secret('default', 'other', 'kubernetes.io/tls'), secret('default', 'opaque', 'Opaque'), secret('kube-system', 'named', 'kubernetes.io/tls')]);
    await write({ resource: 'ingresses.networking.k8s.io', name: 'a', object: { metadata: { name: 'a' }, spec: { tls: [{ secretName: 'named' }, { secretName: 'opaque' }, { secretName: 'missing' }, {}], defaultBackend: { service: { name: 'web', port: { number: 80 } } } } } });
    const { secrets } = await bus.request(messages.ingressSecrets, {}, {});
    expect(secrets.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['default/named']);
  });
});
