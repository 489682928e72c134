import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeNetworkAnnotations, type Dns, type Endpoints, type EndpointSlice, type Ingress, type KubeObject, type Node, type Service } from '@roundsman/api';
import { TestCluster } from '../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start({ ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '1500', ROUNDSMAN_INTAKE_POD_CIDRS: '10.244.0.0/16,fd00:10:244::/48', ROUNDSMAN_INTAKE_SERVICE_CIDRS: '10.96.0.0/16,fd00:10:96::/112' });
  cluster.nodes.placement = () => undefined;
});
afterAll(() => cluster.stop());

const system = 'kube-system';
const cidrs = async (name: string): Promise<string[] | undefined> => (await cluster.get<Node>('nodes', name))?.spec.podCIDRs;
const all = async (): Promise<string[]> => (await cluster.list<Node>('nodes')).flatMap(({ spec }) => spec.podCIDRs ?? []);
const network = (change: (network: Record<string, unknown>) => void) =>
  cluster.edit<KubeObject & { data: Record<string, string> }>('configmaps', 'cluster-network', ({ data }) => {
    const text = JSON.parse(data['network.json']!) as Record<string, unknown>;
    change(text);
    data['network.json'] = JSON.stringify(text);
  }, system);

describe('the pod CIDRs of nodes', () => {
  it('are given one after the other, never twice, and again late, also by the next leader', async () => {
    cluster.nodes.join('n1', 'n2', 'n3');
    await cluster.until(async () => expect((await all()).sort()).toEqual(['10.244.0.0/24', '10.244.1.0/24', '10.244.2.0/24', 'fd00:10:244:1::/64', 'fd00:10:244:2::/64', 'fd00:10:244::/64']));
    expect((await cluster.get<Node>('nodes', 'n1'))?.spec.podCIDR).toBe((await cidrs('n1'))?.[0]);
    cluster.nodes.lose('n3');
    // Not heard any more, or its next heartbeat would bring it back.
    await cluster.until(async () => expect((await cluster.get<Node>('nodes', 'n3'))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('Unknown'));
    await cluster.delete('nodes', 'n3');
    await cluster.stopControllers();
    await cluster.startControllers({ ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '1500' });
    cluster.nodes.join('n4');
    await cluster.until(async () => expect(await cidrs('n4')).toEqual(['10.244.3.0/24', 'fd00:10:244:3::/64']));
  });

  it('are refused when another node has them, whoever writes', async () => {
    const [taken] = (await cidrs('n1'))!;
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'by-hand' }, spec: { podCIDR: taken, podCIDRs: [taken] } };
    await expect(cluster.create(node)).rejects.toThrow(`spec.podCIDRs[0]: Invalid value: "${taken}": overlaps with ${(await cidrs('n1'))!.join(', ')} of node n1`);
  });

  it('run out: an event says so, nothing is given of either family, and who waits gets what becomes free', async () => {
    await network((it) => Object.assign(it, { podCidrs: ['10.244.0.0/22', 'fd00:10:244::/48'] }));
    cluster.nodes.join('n5');
    await cluster.until(async () => expect((await cidrs('n5'))?.[0]).toBe('10.244.2.0/24'));
    expect((await cidrs('n5'))?.[1]).toMatch(/^fd00:10:244:/);
    cluster.nodes.join('n6');
    await cluster.until(async () => {
      const node = await cluster.get<Node>('nodes', 'n6');
      expect(await cluster.events(node!)).toContainEqual(expect.stringMatching(/^CIDRNotAvailable: Node n6 status is now: CIDRNotAvailable: all 4 ranges \/24 of 10\.244\.0\.0\/22/));
    });
    expect(await cidrs('n6')).toBeUndefined();
    const [freed] = (await cidrs('n4'))!;
    cluster.nodes.lose('n4');
    await cluster.until(async () => expect((await cluster.get<Node>('nodes', 'n4'))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('Unknown'));
    await cluster.delete('nodes', 'n4');
    await cluster.until(async () => expect((await cidrs('n6'))?.[0]).toBe(freed));
  });

  it('a node without a pod network is closed by a taint until it has one', async () => {
    const taints = async (): Promise<string[]> => ((await cluster.get<Node>('nodes', 'n1'))?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    cluster.nodes.tells = (node) => (node === 'n1' ? { networkProblem: 'the kernel has no veth' } : {});
    await cluster.until(async () => expect(await taints()).toEqual(['node.kubernetes.io/network-unavailable:NoSchedule']));
    cluster.nodes.tells = () => ({});
    await cluster.until(async () => expect(await taints()).toEqual([]));
  });
});

describe('addresses of load balancers', () => {
  afterEach(async () => {
    for (const { metadata } of await cluster.list('services')) if (metadata.namespace === 'default') await cluster.delete('services', metadata.name);
  });
  const balance = (name: string, spec: object = {}, annotations: Record<string, string> = {}): Promise<Service> =>
    cluster.create<Service>({ apiVersion: 'v1', kind: 'Service', metadata: { name, annotations }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec } });
  const held = async (name: string, namespace = 'default'): Promise<string | undefined> => (await cluster.get<Service>('services', name, namespace))?.status?.loadBalancer.ingress?.map(({ ip, ipMode }) => `${ip} ${ipMode}`).join();
  const has = (name: string, address: string | undefined): Promise<void> => cluster.until(async () => expect(await held(name)).toBe(address));

  it('are free ones of the pool or those asked for; who asks for what is taken or strange gets none and is told why', async () => {
    await cluster.until(async () => expect(await held('ingress', system)).toBe('10.97.0.1 VIP'));
    await balance('a');
    await has('a', '10.97.0.2 VIP');
    await balance('b', { loadBalancerIP: '10.97.0.77' });
    await has('b', '10.97.0.77 VIP');
    const c = await balance('c', {}, { 'roundsman.io/load-balancer-addresses': '10.97.0.77' });
    const d = await balance('d', { loadBalancerIP: '10.1.1.1' });
    await cluster.until(async () => {
      expect(await cluster.events(c)).toEqual(['SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: the address 10.97.0.77 that it asks for is that of Service default/b']);
      expect(await cluster.events(d)).toEqual([expect.stringContaining('the address 10.1.1.1 that it asks for is not in the pool of load balancer addresses (10.97.0.0/24)')]);
    });
    expect([await held('c'), await held('d')]).toEqual([undefined, undefined]);
    await cluster.delete('services', 'b');
    await has('c', '10.97.0.77 VIP');
    // No load balancer any more: it has none.
    await cluster.edit<Service>('services', 'a', ({ spec }) => void (spec.type = 'NodePort'));
    await has('a', undefined);
    const e = await balance('e', { loadBalancerClass: 'example.com/other' });
    await balance('f');
    await has('f', '10.97.0.78 VIP');
    expect([await held('e'), await cluster.events(e)]).toEqual([undefined, []]);
  });

  it('run out: who comes too late waits for one that becomes free', async () => {
    await network((it) => Object.assign(it, { loadBalancerCidrs: ['10.97.0.0/30'] }));
    await balance('a');
    await has('a', '10.97.0.2 VIP');
    const late = await balance('late');
    await cluster.until(async () => expect(await cluster.events(late)).toContainEqual(expect.stringContaining('all addresses of the pool of load balancer addresses (10.97.0.0/30) are given')));
    await cluster.delete('services', 'a');
    await has('late', '10.97.0.2 VIP');
  });
});

describe('the services of the cluster itself', () => {
  const slices = async (service: string): Promise<string[]> =>
    (await cluster.list<EndpointSlice & KubeObject>('endpointslices.discovery.k8s.io'))
      .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service)
      .map(({ metadata, endpoints, ports }) => `${metadata.name} ${endpoints.map(({ addresses, nodeName, conditions }) => `${addresses.join()} ${nodeName} ${conditions.ready}`).join()} ${ports.map(({ name, port, protocol }) => `${name}=${port}/${protocol}`).join(' ')}`)
      .sort();

  it('have the nodes as endpoints that say where they answer, as long as they are heard', async () => {
    const told: Record<string, Record<string, string>> = {
      n1: { [nodeNetworkAnnotations.dns]: '10.244.0.1:53', [nodeNetworkAnnotations.ingress]: 'http=10.0.0.1:80,https=10.0.0.1:443', [nodeNetworkAnnotations.nats]: '10.0.0.1:34222' },
      n2: { [nodeNetworkAnnotations.dns]: '[fd00::1]:5353' },
    };
    cluster.nodes.tells = (node) => ({ annotations: told[node] ?? {} });
    await cluster.until(async () => {
      expect(await slices('kube-dns')).toEqual(['kube-dns-n1 10.244.0.1 n1 true dns=53/UDP dns-tcp=53/TCP', 'kube-dns-n2 fd00::1 n2 true dns=5353/UDP dns-tcp=5353/TCP']);
      expect(await slices('ingress')).toEqual(['ingress-n1 10.0.0.1 n1 true http=80/TCP https=443/TCP']);
      expect(await slices('nats')).toEqual(['nats-n1 10.0.0.1 n1 true nats=34222/TCP']);
    });
    await cluster.until(async () =>
      expect((await cluster.get<Endpoints & KubeObject>('endpoints', 'ingress', system))?.subsets).toEqual([{ addresses: [expect.objectContaining({ ip: '10.0.0.1', nodeName: 'n1' })], ports: [{ name: 'http', port: 80, protocol: 'TCP' }, { name: 'https', port: 443, protocol: 'TCP' }] }]));
    cluster.nodes.lose('n1');
    await cluster.until(async () => expect(await slices('ingress')).toEqual(['ingress-n1 10.0.0.1 n1 false http=80/TCP https=443/TCP']));
    // By NATS it would be heard; its pods go on asking it for names.
    expect(await slices('nats')).toEqual(['nats-n1 10.0.0.1 n1 true nats=34222/TCP']);
    expect((await slices('kube-dns'))[0]).toBe('kube-dns-n1 10.244.0.1 n1 true dns=53/UDP dns-tcp=53/TCP');
    cluster.nodes.tells = () => ({});
    cluster.nodes.join('n1');
    await cluster.until(async () => expect([await slices('kube-dns'), await slices('ingress'), await slices('nats')]).toEqual([[], [], []]));
  });
});

describe('names of services', () => {
  const shop = (): Promise<Service> => cluster.create<Service>({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop' }, spec: { selector: { app: 'shop' }, ports: [{ name: 'http', port: 80 }] } });
  const dns = (name: string): Promise<Dns | undefined> => cluster.get<Dns>('dnses.roundsman.io', name);
  const ready = async (name: string): Promise<string> => {
    const condition = (await dns(name))?.status?.conditions?.find(({ type }) => type === 'Ready');
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  };
  const ingress = (name: string): Promise<Ingress | undefined> => cluster.get<Ingress>('ingresses.networking.k8s.io', name);

  it('DNS: an Ingress of its own, its address, and which service is missing; all gone with it', async () => {
    await cluster.create({ apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'store', labels: { a: 'b' } }, spec: { host: 'store.example.com', paths: [{ path: '/shop', service: { name: 'shop', port: 80 } }, { path: '/mail', service: { name: 'mail', port: 'smtp' } }] } });
    await cluster.until(async () => expect(await ready('store')).toBe('False ServiceNotFound: Service "shop" does not exist in namespace "default" (path store.example.com/shop); Service "mail" does not exist in namespace "default" (path store.example.com/mail)'));
    await shop();
    await cluster.create({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'mail' }, spec: { ports: [{ name: 'smtp', port: 25 }] } });
    await cluster.until(async () => expect(await ready('store')).toBe('True Served: All paths lead to services'));
    // Its address comes by the loop of the Ingress.
    await cluster.until(async () => expect((await dns('store'))?.status?.address).toBe('10.97.0.1'));
    const served = await ingress('store-dns');
    expect(served).toMatchObject({
      metadata: { labels: { a: 'b' }, annotations: { 'roundsman.io/strip-prefix': 'true' }, ownerReferences: [{ kind: 'DNS', name: 'store', controller: true }] },
      spec: { ingressClassName: 'roundsman', rules: [{ host: 'store.example.com', http: { paths: [{ path: '/shop', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }, { path: '/mail', backend: { service: { name: 'mail', port: { name: 'smtp' } } } }] } }] },
      status: { loadBalancer: { ingress: [{ ip: '10.97.0.1' }] } },
    });
    // A person's edit of what is the cluster's does not stay.
    await cluster.edit<Ingress>('ingresses.networking.k8s.io', 'store-dns', ({ spec }) => void (spec.rules![0]!.host = 'other.example.com'));
    await cluster.until(async () => expect((await ingress('store-dns'))?.spec.rules?.[0]?.host).toBe('store.example.com'));
    await cluster.delete('dnses.roundsman.io', 'store');
    await cluster.until(async () => expect(await ingress('store-dns')).toBeUndefined());
  });

  it('Ingress: its address and what is missing, if the cluster serves it; those of others are not touched', async () => {
    const rule = (service: string) => [{ host: `${service}.example`, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 8080 } } } }] } }];
    const make = (name: string, more: object): Promise<Ingress> => cluster.create<Ingress>({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name }, spec: { rules: rule('nothing'), ...more } });
    const own = await make('own', {});
    const port = await make('port', { rules: rule('shop') });
    const foreign = await make('foreign', { ingressClassName: 'nginx' });
    await cluster.until(async () => {
      for (const one of ['own', 'port']) expect((await ingress(one))?.status?.loadBalancer).toEqual({ ingress: [{ ip: '10.97.0.1' }] });
      expect(await cluster.events(own)).toEqual(['ServiceNotFound: Service "nothing" does not exist in namespace "default" (path nothing.example/)']);
      expect(await cluster.events(port)).toEqual(['ServicePortNotFound: Service "shop" has no port 8080 (path shop.example/)']);
    });
    expect((await ingress('foreign'))?.status?.loadBalancer).toEqual({});
    expect(await cluster.events(foreign)).toEqual([]);
  });

  it('Ingress, DNS: who comes first has a host and path, which the others are told until it is gone', async () => {
    const backend = { service: { name: 'shop', port: { number: 80 } } };
    const make = (name: string, more: object = {}): Promise<Ingress> =>
      cluster.create<Ingress>({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name }, spec: { rules: [{ host: 'mall.example', http: { paths: ['/', '/own'].map((path) => ({ path: `${path}${path === '/' ? '' : `-${name}`}`, pathType: 'Prefix', backend })) } }], ...more } });
    const first = await make('a-first');
    const second = await make('b-second');
    const foreign = await make('c-foreign', { ingressClassName: 'nginx' });
    await cluster.create({ apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'mall' }, spec: { host: 'mall.example', paths: [{ path: '/', service: { name: 'shop', port: 80 } }, { path: '/free', service: { name: 'shop', port: 80 } }] } });
    const taken = 'PathTaken: Ingress "default/a-first" comes first and gets the requests of path mall.example/';
    await cluster.until(async () => {
      expect(await ready('mall')).toBe(`False ${taken}`);
      expect(await cluster.events(second)).toEqual([taken]);
    });
    for (const one of [first, foreign]) expect(await cluster.events(one)).toEqual([]);
    await cluster.delete('ingresses.networking.k8s.io', 'a-first');
    await cluster.until(async () => expect(await ready('mall')).toBe('False PathTaken: Ingress "default/b-second" comes first and gets the requests of path mall.example/'));
    await cluster.delete('ingresses.networking.k8s.io', 'b-second');
    await cluster.until(async () => expect(await ready('mall')).toBe('True Served: All paths lead to services'));
  });

  it('Ingress: a certificate that is missing, of another type or broken, told when it is so', async () => {
    const made = await cluster.create<Ingress>({ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'secured' }, spec: { tls: [{ hosts: ['a.example', 'b.example'], secretName: 'certificate' }], defaultBackend: { service: { name: 'shop', port: { number: 80 } } } } });
    const own = 'the ingress proxy shows its own certificate for a.example, b.example';
    const told = async (): Promise<string[]> => (await cluster.events(made)).filter((text) => !text.startsWith('Service'));
    await cluster.until(async () => expect(await told()).toEqual([`SecretNotFound: Secret "certificate" does not exist in namespace "default"; ${own}`]));
    const secret = (more: object) => cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'certificate' }, ...more });
    await secret({ stringData: { 'tls.crt': 'x' } });
    await cluster.until(async () => expect(await told()).toContain(`InvalidCertificate: Secret "certificate" is of type Opaque, not kubernetes.io/tls; ${own}`));
    await cluster.delete('secrets', 'certificate');
    await secret({ type: 'kubernetes.io/tls', stringData: { 'tls.crt': 'no certificate', 'tls.key': 'no key' } });
    await cluster.until(async () => expect(await told()).toContainEqual(expect.stringContaining('InvalidCertificate: Secret "certificate" holds no certificate and key that can be used: ')));
  });
});

describe('Endpoints that people make', () => {
  it('are shown as slices of a service without a selector, and go with it', async () => {
    const slices = async () =>
      (await cluster.list<EndpointSlice & KubeObject>('endpointslices.discovery.k8s.io'))
        .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'outside')
        .map(({ metadata, addressType, endpoints, ports }) => `${metadata.labels?.['endpointslice.kubernetes.io/managed-by']} ${addressType} ${endpoints.map(({ addresses, conditions }) => `${addresses.join()}=${conditions.ready}`).join(' ')} ${ports.map(({ port }) => port).join()}`)
        .sort();
    await cluster.create({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'outside' }, subsets: [{ addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }], notReadyAddresses: [{ ip: '192.0.2.2' }], ports: [{ port: 5432 }] }] });
    await cluster.create({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'outside' }, spec: { ports: [{ port: 5432 }] } });
    await cluster.until(async () =>
      expect(await slices()).toEqual(['endpointslicemirroring-controller.k8s.io IPv4 192.0.2.1=true 192.0.2.2=false 5432', 'endpointslicemirroring-controller.k8s.io IPv6 2001:db8::1=true 5432']));
    await cluster.delete('services', 'outside');
    await cluster.until(async () => {
      expect(await slices()).toEqual([]);
      expect(await cluster.get('endpoints', 'outside')).toBeUndefined();
    });
  });

  it('namespaces go with all of it', async () => {
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } });
    const inside = { namespace: 'going' };
    await cluster.create({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', ...inside }, spec: { type: 'LoadBalancer', selector: { a: 'b' }, ports: [{ port: 80 }] } });
    await cluster.create({ apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'store', ...inside }, spec: { host: 'going.example.com', paths: [{ path: '/', service: { name: 'web', port: 80 } }] } });
    await cluster.until(async () => expect(await cluster.get('ingresses.networking.k8s.io', 'store-dns', 'going')).toBeDefined());
    await cluster.write({ operation: 'delete', resource: 'namespaces', name: 'going' });
    await cluster.until(async () => expect(await cluster.get('namespaces', 'going')).toBeUndefined());
    for (const resource of ['services', 'endpoints', 'endpointslices.discovery.k8s.io', 'ingresses.networking.k8s.io', 'dnses.roundsman.io']) expect((await cluster.list(resource)).filter(({ metadata }) => metadata.namespace === 'going')).toEqual([]);
  });
});
