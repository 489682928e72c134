import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serverCertificate } from '@roundsman/gateway';
import type { Ingress, Node, Service } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { SmallCluster, steady } from './small-cluster.ts';

const server = 'mkdir -p /tmp/www/sub; echo $NAME > /tmp/www/index.html; echo $NAME/sub > /tmp/www/sub/index.html; exec httpd -f -p 8080 -h /tmp/www';
const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name },
  spec: {
    replicas, selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', server], env: [{ name: 'NAME', value: name }], ports: [{ name: 'http', containerPort: 8080 }], readinessProbe: { httpGet: { path: '/', port: 'http' }, ...steady }, lifecycle: { preStop: { exec: { command: ['sleep', '1'] } } } }],
      },
    },
  },
});
const service = (name: string) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { selector: { app: name }, ports: [{ name: 'web', port: 80, targetPort: 'http' }] } });
const path = (to: string, at: string) => ({ path: at, pathType: 'Prefix', backend: { service: { name: to, port: { name: 'web' } } } });
const ingress = (more: object = {}) => ({
  apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'shop' },
  spec: { rules: [{ host: 'shop.test', http: { paths: [path('web', '/'), path('gone', '/gone')] } }], ...more },
});
const dns = { apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'mall' }, spec: { host: 'mall.test', paths: [{ path: '/one', service: { name: 'web', port: 80 } }, { path: '/two', service: { name: 'other', port: 80 } }] } };

/** HTTP from outside, as people and programs of the machine send it: to the address that the Ingress shows. */
whenDocker(describe)('Ingress of a small cluster', () => {
  let cluster: SmallCluster;
  let address: string;
  beforeAll(async () => {
    // A node is not lost for the time that its agent takes to start again.
    cluster = await SmallCluster.start(['one', 'two'], { ingress: true, settings: { ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '120000' } });
    await cluster.apply(deployment('web', 2), service('web'), deployment('other', 1), service('other'), ingress(), dns);
    for (const name of ['web', 'other']) await cluster.must(['rollout', 'status', `deployment/${name}`, '--timeout=60s'], { timeoutMs: 70_000 });
    address = await eventually(async () => (await cluster.get<Service>('service', 'ingress', '-n', 'kube-system')).status?.loadBalancer?.ingress?.[0]?.ip ?? false, { within: 20_000 });
  });
  afterAll(() => cluster?.stop());

  interface Answer {
    readonly status: number;
    readonly text: string;
    readonly headers: IncomingMessage['headers'];
  }
  const get = (host: string, at: string, secure = false): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host: address, port: secure ? 443 : 80, path: at, headers: { host }, servername: host, rejectUnauthorized: false, agent: false, timeout: 20_000 } as const;
      const sent = (secure ? secureRequest : plainRequest)(options, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, text: body, headers: response.headers }), reject);
      });
      sent.once('timeout', () => sent.destroy(new Error(`${address} did not answer`)));
      sent.once('error', reject).end();
    });

  it('leads to pods by host and path at the address it shows, and says what is missing', async () => {
    await eventually(async () => expect(await get('shop.test', '/')).toMatchObject({ status: 200, text: 'web\n' }), { within: 30_000 });
    expect((await get('shop.test', '/sub/')).text).toBe('web/sub\n');
    expect(await get('shop.test', '/gone')).toMatchObject({ status: 503, text: 'Service default/gone does not exist (Ingress default/shop).\n' });
    expect((await get('nobody.test', '/')).status).toBe(404);
    await eventually(async () => expect((await cluster.get<Ingress>('ingress', 'shop')).status?.loadBalancer.ingress).toEqual([{ ip: address }]), { within: 30_000 });
    expect(await cluster.must(['get', 'ingress', 'shop', '--no-headers'])).toMatch(new RegExp(`^shop +roundsman +shop\\.test +${address} +80 `));
  });

  it('of a DNS object leads each path to its Service, as if that were alone, also from pods by name', async () => {
    await eventually(async () => expect((await get('mall.test', '/one/sub/')).text).toBe('web/sub\n'), { within: 30_000 });
    await eventually(async () => expect((await get('mall.test', '/two/sub/')).text).toBe('other/sub\n'), { within: 30_000 });
    await eventually(async () => expect((await cluster.kubectl(['exec', 'deployment/web', '--', 'timeout', '20', 'wget', '-qO-', 'http://mall.test/two/sub/'])).stdout).toBe('other/sub\n'), { within: 30_000 });
  });

  it('serves TLS with the certificate of a Secret, and sends plain requests there', async () => {
    const certificate = await serverCertificate({ tlsFolder: `${cluster.folder}/shop-tls` }, ['shop.test']);
    await cluster.must(['create', 'secret', 'tls', 'shop', `--cert=${cluster.folder}/shop-tls/tls.crt`, `--key=${cluster.folder}/shop-tls/tls.key`]);
    await cluster.apply(ingress({ tls: [{ hosts: ['shop.test'], secretName: 'shop' }] }));
    await eventually(async () => expect(await get('shop.test', '/')).toMatchObject({ status: 308, headers: { location: 'https://shop.test/' } }), { within: 30_000 });
    const trusted = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const sent = secureRequest({ host: address, port: 443, path: '/', headers: { host: 'shop.test' }, servername: 'shop.test', ca: certificate?.ca, agent: false, timeout: 20_000 }, (response) => void text(response).then(resolve, reject));
        sent.once('timeout', () => sent.destroy(new Error(`${address} did not answer`)));
        sent.once('error', reject).end();
      });
    await eventually(async () => expect(await trusted()).toBe('web\n'), { within: 30_000 });
    // Of the certificate nothing is wrong; of a Service something is.
    await eventually(async () => {
      const events = await cluster.must(['get', 'events', '--field-selector', 'involvedObject.kind=Ingress,involvedObject.name=shop', '-o', 'jsonpath={.items[*].reason}']);
      expect(new Set(events.split(' '))).toEqual(new Set(['ServiceNotFound']));
    });
  });

  it('loses no request while its pods are rolled out anew, nor while its agent is started again', async () => {
    const problems: string[] = [];
    let asked = 0;
    const ending = new AbortController();
    const clients = Array.from({ length: 4 }, async () => {
      while (!ending.signal.aborted) {
        asked += 1;
        await get('mall.test', '/one/').then(({ status, text: body }) => status === 200 || problems.push(`${status} ${body}`), (error: Error) => problems.push(error.message));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    await cluster.must(['rollout', 'restart', 'deployment/web']);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s'], { timeoutMs: 70_000 });
    const instance = async (): Promise<string | undefined> => (await cluster.get<Node>('node', 'one')).metadata.annotations?.['roundsman.io/agent-instance'];
    const before = await instance();
    await cluster.kill(['agent-one']);
    cluster.restart(['agent-one']);
    await eventually(async () => expect(await instance()).not.toBe(before), { within: 60_000 });
    await cluster.ready(['one', 'two']);
    ending.abort();
    await Promise.all(clients);
    expect(asked).toBeGreaterThan(100);
    expect(problems).toEqual([]);
  });
});
