import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod, Service } from '@roundsman/api';
import { eventually } from '@roundsman/testkit';
import { FakeAgent } from './fake-agent.ts';
import { KubectlCluster, kubectlPath } from './kubectl-cluster.ts';

/** Services, ingresses and names as kubectl shows them; what they look like beside those of Kubernetes is in conformance/. */
let cluster: KubectlCluster;
beforeAll(async () => {
  cluster = await KubectlCluster.start();
});
afterAll(() => cluster?.stop());

const create = (object: object, ...args: string[]): ReturnType<KubectlCluster['kubectl']> => cluster.kubectl(['create', '-f', '-', ...args], { input: JSON.stringify(object) });
const service = (name: string, spec: object = {}): object => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
const specOf = async (name: string): Promise<Service['spec']> => (JSON.parse(await cluster.must(['get', 'service', name, '-o', 'json'])) as Service).spec;

describe('what a cluster begins with', () => {
  it('is its own services and the class of ingresses', async () => {
    const services = await cluster.must(['get', 'services', '-n', 'kube-system']);
    expect(services).toMatch(/^ingress +LoadBalancer +10\.96\.\d+\.\d+ +<pending> +80:3\d{4}\/TCP,443:3\d{4}\/TCP/m);
    expect(services).toMatch(/^kube-dns +ClusterIP +10\.96\.0\.10 +<none> +53\/UDP,53\/TCP/m);
    expect(await cluster.must(['get', 'ingressclasses'])).toMatch(/^roundsman +roundsman\.io\/ingress +<none>/m);
    expect(JSON.parse(await cluster.must(['get', 'configmap', 'cluster-network', '-n', 'kube-system', '-o', "jsonpath={.data['network\\.json']}"]))).toMatchObject({ podCidrs: ['10.244.0.0/16'], domain: 'cluster.local' });
  });
});

describe('addresses', () => {
  it('asked for by many at once are different ones, and nobody gets one that is taken after a restart', async () => {
    const many = { apiVersion: 'v1', kind: 'List', items: Array.from({ length: 16 }, (_, index) => service(`many-${index}`, { type: 'NodePort' })) };
    await Promise.all([0, 1].map((half) => create({ ...many, items: many.items.filter((_, index) => index % 2 === half) })));
    const specs = (JSON.parse(await cluster.must(['get', 'services', '-o', 'json'])) as { items: Service[] }).items.filter(({ metadata }) => metadata.name.startsWith('many-')).map(({ spec }) => spec);
    expect(specs).toHaveLength(16);
    expect([new Set(specs.map(({ clusterIP }) => clusterIP)).size, new Set(specs.map(({ ports }) => ports![0]!.nodePort)).size]).toEqual([16, 16]);
    await cluster.stopIntake();
    await cluster.startIntake();
    const { clusterIP, ports } = specs[0]!;
    const again = await create(service('again', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort: ports![0]!.nodePort }] }));
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining(`failed to allocate IP ${clusterIP}: provided IP is already allocated`)]);
    const port = await create(service('again', { type: 'NodePort', ports: [{ port: 80, nodePort: ports![0]!.nodePort }] }));
    expect(port.stderr).toContain(`spec.ports[0].nodePort: Invalid value: ${ports![0]!.nodePort}: provided port is already allocated`);
    await cluster.must(['delete', 'services', '--all', '--wait=false']);
    expect((await create(service('again', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort: ports![0]!.nodePort }] }))).code).toBe(0);
    await cluster.must(['delete', 'service', 'again']);
  });

  it('server-side apply and edits leave what was given', async () => {
    const manifest = JSON.stringify(service('applied', { selector: { app: 'web' } }));
    await cluster.must(['apply', '--server-side', '-f', '-'], { input: manifest });
    const { clusterIP } = await specOf('applied');
    await cluster.must(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(service('applied', { selector: { app: 'other' }, type: 'NodePort' })) });
    expect(await specOf('applied')).toMatchObject({ clusterIP, selector: { app: 'other' }, ports: [{ nodePort: expect.any(Number) }] });
    await cluster.must(['delete', 'service', 'applied']);
  });
});

describe('names of several services', () => {
  const dns = (name: string, host: string, ...paths: string[]): object => ({ apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name }, spec: { host, paths: paths.map((path, index) => ({ path, service: { name: `svc-${index}`, port: index === 0 ? 80 : 'http' } })) } });
  it('are shown with their host and paths', async () => {
    expect((await create(dns('shop', 'shop.example', '/', '/cart'))).code).toBe(0);
    const [header, row] = (await cluster.must(['get', 'dns'])).split('\n');
    expect([header!.split(/ {2,}/).slice(0, 3), row!.split(/ {2,}/).slice(0, 3)]).toEqual([['NAME', 'HOST', 'PATHS'], ['shop', 'shop.example', '/=svc-0:80,/cart=svc-1:http']]);
    expect(await cluster.must(['explain', 'dns.spec.paths.service'])).toContain('a service of the same namespace');
    expect(await cluster.must(['describe', 'dns', 'shop'])).toMatch(/Host: +shop\.example/);
  });

  it('belong to one object each, and are refused with what is wrong', async () => {
    const refused = async (object: object): Promise<string> => (await create(object)).stderr;
    expect(await refused(dns('other', 'shop.example', '/'))).toContain('spec.host: Duplicate value: "shop.example": the host belongs to DNS default/shop');
    expect(await refused(dns('other', 'web.default.svc.cluster.local', '/'))).toContain('spec.host: Forbidden: names below cluster.local are those of Services and pods');
    expect(await refused(dns('other', '10.0.0.1', 'a', 'a'))).toMatch(/spec\.host: Invalid value: "10\.0\.0\.1": must be a DNS name[^]*spec\.paths\[0\]\.path: Invalid value: "a": must be an absolute path[^]*spec\.paths\[1\]\.path: Duplicate value: "a"/);
    await cluster.must(['delete', 'dns', 'shop']);
    expect((await create(dns('other', 'shop.example', '/'))).code).toBe(0);
  });
});

describe('an ingress', () => {
  it('that names no class is of the default one', async () => {
    await cluster.must(['create', 'ingress', 'web', '--rule=shop.example/*=web:80']);
    expect((await cluster.must(['get', 'ingress', 'web'])).split('\n')[1]).toMatch(/^web +roundsman +shop\.example +80/);
  });
});

describe('port-forward', () => {
  let agent: FakeAgent;
  let server: Server;
  beforeAll(async () => {
    const folder = join(cluster.folder, 'node');
    mkdirSync(folder);
    agent = new FakeAgent('node-1', await cluster.nats.connect('agent-node-1'), folder);
    await agent.start();
    server = createServer((_, response) => response.end('behind the service')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // On the fake node the port of a container is one of this machine.
    const { port } = server.address() as AddressInfo;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', labels: { app: 'web' } }, spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'any', ports: [{ name: 'http', containerPort: port }] }] } };
    expect((await create(pod)).code).toBe(0);
    await agent.running(JSON.parse(await cluster.must(['get', 'pod', 'web', '-o', 'json'])) as Pod);
  });
  afterAll(async () => {
    server?.close();
    await agent?.stop();
  });

  it('of a service leads to one of its pods, to the port that the container gave its name', async () => {
    await cluster.must(['expose', 'pod', 'web', '--port=80', '--target-port=http']);
    const child = spawn(kubectlPath(), ['port-forward', 'service/web', ':80'], { env: cluster.kubectlEnv() });
    let seen = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (seen += part.toString()));
    try {
      const local = await eventually(() => /Forwarding from 127\.0\.0\.1:(\d+)/.exec(seen)?.[1] ?? Promise.reject(new Error(seen)));
      expect(await (await fetch(`http://127.0.0.1:${local}/`)).text()).toBe('behind the service');
    } finally {
      child.kill();
      await once(child, 'close');
    }
  });
});
