import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EndpointSlice, Node, Pod, Service } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { age, SmallCluster } from './small-cluster.ts';

const nodes = ['one', 'two', 'three'];
/** Says its own name at /, and another page at /where. */
const server = 'mkdir /tmp/www; hostname > /tmp/www/index.html; echo $NODE > /tmp/www/where; exec httpd -f -p 8080 -h /tmp/www';
const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 0,
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: name } } }],
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sh', '-c', server],
            env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
            ports: [{ name: 'http', containerPort: 8080 }],
            // An answer that is late makes nobody unready, only a bad one.
            readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1, timeoutSeconds: 10 },
          },
        ],
      },
    },
  },
});
const service = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 'http' }], ...spec } });
const client = (node: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `client-${node}`, labels: { app: 'client' } },
  spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'] }], ...spec },
});

/** What an address answers to a request for a host: fetch sets that header itself. */
const atHost = (host: string, url: string): Promise<string> => new Promise((resolve, reject) => get(url, { headers: { host } }, (response) => resolve(text(response))).once('error', reject));

/** MiniK8s acceptance, Service and DNS: every way in, from every place, and what happens to it when pods come and go. */
whenDocker(describe)('Services of a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(nodes, { ingress: true });
    await cluster.apply(deployment('web', 3), deployment('shop', 1), service('web', { type: 'NodePort' }), service('shop', { type: 'LoadBalancer' }), ...nodes.map((node) => client(node)));
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    await cluster.must(['rollout', 'status', 'deployment/shop', '--timeout=60s'], { timeoutMs: 70_000 });
    await cluster.must(['wait', '--for=condition=Ready', 'pod', '-l', 'app=client', '--timeout=60s'], { timeoutMs: 70_000 });
  }, 240_000);
  afterAll(() => cluster?.stop());

  const podsOf = async (app: string): Promise<Pod[]> => (await cluster.get<{ items: Pod[] }>('pods', '-l', `app=${app}`)).items;
  const serviceNamed = (name: string): Promise<Service> => cluster.get<Service>('service', name);
  /** What a program in a pod gets from a URL, so many times. */
  const askedFrom = async (node: string, url: string, times = 1): Promise<string[]> => {
    const said = await cluster.must(['exec', `client-${node}`, '--', 'sh', '-c', `for i in $(seq ${times}); do timeout 20 wget -qO- ${url} || echo failed; done`]);
    return said.trim().split('\n');
  };
  const names = async (app: string): Promise<string[]> => (await podsOf(app)).map(({ metadata }) => metadata.name).sort();

  it('are shown as Kubernetes shows them', async () => {
    const { spec } = await serviceNamed('web');
    expect((await cluster.must(['get', 'svc', 'web', '--no-headers'])).trim()).toMatch(new RegExp(`^web +NodePort +${spec.clusterIP} +<none> +80:${spec.ports![0]!.nodePort}/TCP +${age}$`));
    const endpoints = (await podsOf('web')).map(({ status }) => `${status?.podIP}:8080`);
    await eventually(async () => expect((await cluster.must(['get', 'endpoints', 'web', '--no-headers'])).split(/ +/)[1]!.split(',').sort()).toEqual([...endpoints].sort()));
    await eventually(async () => {
      const described = await cluster.must(['describe', 'svc', 'web']);
      for (const endpoint of endpoints) expect(described).toContain(endpoint);
    });
  });

  it('reach every pod by the ClusterIP, from pods on each node and from the machine', async () => {
    const { spec } = await serviceNamed('web');
    const all = await names('web');
    // So many that chance leaves none of three out: two thirds to the power of 60.
    for (const node of nodes) await eventually(async () => expect([...new Set(await askedFrom(node, `http://${spec.clusterIP}/`, 60))].sort()).toEqual(all));
    // The machine has rules of its own, which follow by themselves.
    await eventually(async () => {
      const here = new Set<string>();
      for (let i = 0; i < 60; i += 1) here.add((await (await fetch(`http://${spec.clusterIP}/`, { headers: { connection: 'close' } })).text()).trim());
      expect([...here].sort()).toEqual(all);
    });
  });

  it('are called by name, from the same and from other namespaces, and by headless names of pods', async () => {
    await cluster.apply(service('each', { clusterIP: 'None', selector: { app: 'web' } }), { apiVersion: 'v1', kind: 'Service', metadata: { name: 'outside' }, spec: { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' } });
    const all = await names('web');
    for (const name of ['web', 'web.default', 'web.default.svc.cluster.local', 'outside.default.svc']) await eventually(async () => expect(all).toContain((await askedFrom('two', `http://${name}/`))[0]));
    const addresses = (await podsOf('web')).map(({ status }) => status?.podIP ?? '').sort();
    await eventually(async () => {
      const said = await cluster.must(['exec', 'client-one', '--', 'nslookup', '-type=a', 'each.default.svc.cluster.local']);
      expect([...said.matchAll(/^Address: (\S+)$/gm)].map(([, address]) => address).sort()).toEqual(addresses);
    });
  });

  it('answer at the NodePort of every node, on the machine itself at that of localhost, and at the load balancer address', async () => {
    const port = (await serviceNamed('web')).spec.ports![0]!.nodePort;
    const { items } = await cluster.get<{ items: Node[] }>('nodes');
    const all = await names('web');
    for (const node of items) {
      const address = node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
      await eventually(async () => expect(all).toContain((await (await fetch(`http://${address}:${port}/`)).text()).trim()));
      await eventually(async () => expect(all).toContain((await askedFrom('one', `http://${address}:${port}/`))[0]));
    }
    await eventually(async () => expect(all).toContain((await (await fetch(`http://127.0.0.1:${port}/`)).text()).trim()));
    const given = await eventually(async () => (await serviceNamed('shop')).status?.loadBalancer?.ingress?.[0]?.ip ?? false);
    const [shop] = await names('shop');
    await eventually(async () => expect((await (await fetch(`http://${given}/`)).text()).trim()).toBe(shop));
    await eventually(async () => expect(await askedFrom('three', `http://${given}/`)).toEqual([shop]));
  });

  it('follow the pods: one that is not ready gets nothing, new ones get their share, a call to nobody is refused at once', async () => {
    const [victim] = await podsOf('web');
    const { name } = victim!.metadata;
    await cluster.must(['exec', name, '--', 'mv', '/tmp/www/index.html', '/tmp/www/hidden']);
    await eventually(async () => {
      const slices = await cluster.get<{ items: EndpointSlice[] }>('endpointslices', '-l', 'kubernetes.io/service-name=web');
      expect(slices.items.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready === false).map(({ targetRef }) => targetRef?.name)).toEqual([name]);
    }, { within: 40_000 });
    const left = (await names('web')).filter((other) => other !== name);
    await eventually(async () => expect([...new Set(await askedFrom('one', 'http://web/', 30))].sort()).toEqual(left), { within: 40_000 });
    await cluster.must(['exec', name, '--', 'mv', '/tmp/www/hidden', '/tmp/www/index.html']);
    await cluster.must(['scale', 'deployment', 'web', '--replicas=5']);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    const five = await names('web');
    await eventually(async () => expect([...new Set(await askedFrom('two', 'http://web/', 60))].sort()).toEqual(five), { within: 40_000 });
    await cluster.must(['scale', 'deployment', 'web', '--replicas=0']);
    const { spec } = await serviceNamed('web');
    await eventually(async () => expect((await cluster.kubectl(['exec', 'client-one', '--', 'timeout', '20', 'wget', '-qO-', `http://${spec.clusterIP}/`])).stderr).toContain('Connection refused'), { within: 20_000 });
    await cluster.must(['scale', 'deployment', 'web', '--replicas=3']);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
  });

  it('of kind DNS lead one host and several paths to several Services, from pods and from the machine, and vanish with it', async () => {
    await cluster.apply({ apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'mall' }, spec: { host: 'mall.example', paths: [{ path: '/web', service: { name: 'web', port: 80 } }, { path: '/shop', service: { name: 'shop', port: 80 } }] } });
    const [shop] = await names('shop');
    await eventually(async () => expect(await askedFrom('one', 'http://mall.example/shop')).toEqual([shop]), { within: 20_000 });
    const web = await names('web');
    await eventually(async () => expect(web).toContain((await askedFrom('two', 'http://mall.example/web/'))[0]), { within: 20_000 });
    await eventually(async () => expect((await askedFrom('two', 'http://mall.example/web/where'))[0]).toMatch(/^(one|two|three)$/));
    const address = await eventually(async () => (await cluster.must(['get', 'dns', 'mall', '-o', 'jsonpath={.status.address}'])).trim() || false);
    expect((await atHost('mall.example', `http://${address}/shop`)).trim()).toBe(shop);
    expect((await cluster.must(['get', 'dns', 'mall'])).split('\n')[1]).toMatch(/mall +mall\.example +.*\/web.*\/shop/);
    await cluster.must(['delete', 'dns', 'mall']);
    await eventually(async () => expect((await cluster.kubectl(['exec', 'client-one', '--', 'nslookup', '-type=a', 'mall.example'])).stdout).toMatch(/NXDOMAIN|can't find/), { within: 20_000 });
  });

  it('that are deleted leave nothing behind', async () => {
    const { spec } = await serviceNamed('shop');
    await cluster.must(['delete', 'svc', 'shop']);
    await eventually(async () => expect((await askedFrom('one', `http://${spec.clusterIP}/`))[0]).toBe('failed'), { within: 20_000 });
    await eventually(async () => expect((await cluster.get<{ items: EndpointSlice[] }>('endpointslices', '-l', 'kubernetes.io/service-name=shop')).items).toEqual([]));
    await eventually(async () => expect((await cluster.kubectl(['exec', 'client-one', '--', 'nslookup', '-type=a', 'shop.default.svc.cluster.local'])).stdout).toMatch(/NXDOMAIN|can't find/));
  });
});
