import { Agent } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import type { IngressProxy } from './ingress-proxy.ts';
import { ingress, resources, rule, service, slice } from './testing/objects.ts';
import { ask, Behind, ToldNetwork } from './testing/rig.ts';

const connectionsOf = ({ server }: Behind): Promise<number> => new Promise((resolve, reject) => server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))));

describe('under load', () => {
  let told: ToldNetwork;
  let proxy: IngressProxy;
  let stopProxy: () => Promise<void>;
  beforeEach(async () => {
    told = await ToldNetwork.start();
    told.put(resources.service, service('web'));
    told.put(resources.ingress, ingress('shop', { rules: [rule('shop.example', { '/': 'web:80' })] }));
    // Two thousand connections at once find no room in a queue of the kernel at first, and come again after a second or three.
    ({ proxy, stop: stopProxy } = await told.proxy({ connectMs: '20000' }));
  });
  afterEach(async () => {
    await stopProxy();
    await told.stop();
  });

  it('endpoints come, go and end without a request that fails', async () => {
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const first = await Behind.start((_request, response) => response.end('127.0.0.1'), hosts[0]);
    const { port } = first;
    const start = (host: string): Promise<Behind> => Behind.start((request, response) => void setTimeout(() => request.pipe(response), 2), host, port);
    const behind = new Map([[hosts[0]!, first], ...(await Promise.all(hosts.slice(1).map(async (host): Promise<[string, Behind]> => [host, await start(host)])))]);
    told.put(resources.slice, slice('web', hosts, port));
    await eventually(async () => expect((await ask(proxy.ports.http, 'shop.example', '/')).status).toBe(200));
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const problems: string[] = [];
    let asked = 0;
    const ending = new AbortController();
    const clients = Array.from({ length: 20 }, async (_, index) => {
      while (!ending.signal.aborted) {
        asked += 1;
        const post = index % 2 === 0;
        const { status, text } = await ask(proxy.ports.http, 'shop.example', '/', { agent, ...(post ? { method: 'POST', body: 'x'.repeat(5_000) } : {}) }).catch((error: Error) => ({ status: 0, text: error.message }));
        if (status !== 200) problems.push(`${status} ${text}`);
      }
    });
    for (let round = 0; round < 6; round += 1) {
      const host = hosts[round % hosts.length]!;
      const before = asked;
      told.put(resources.slice, slice('web', hosts.filter((one) => one !== host), port));
      await eventually(() => asked > before + 100);
      // It ends as a well-behaved server does, when nobody comes any more: on a connection that it closed before, it would be asked now and then.
      let quiet = 0;
      await eventually(async () => (quiet = (await connectionsOf(behind.get(host)!)) === 0 ? quiet + 1 : 0) > 2);
      await new Promise<void>((resolve) => {
        behind.get(host)!.server.close(() => resolve());
        behind.get(host)!.server.closeIdleConnections();
      });
      behind.set(host, await start(host));
      told.put(resources.ingress, ingress('shop', { rules: [rule('shop.example', { '/': 'web:80', [`/round-${round}`]: 'web:80' })] }));
      told.put(resources.slice, slice('web', hosts, port));
      await eventually(() => behind.get(host)!.requests > 0);
    }
    ending.abort();
    await Promise.all(clients);
    agent.destroy();
    for (const one of behind.values()) await one.stop();
    expect(problems).toEqual([]);
    expect(asked).toBeGreaterThan(600);
  });

  it('two thousand connections at a time are served, and leave nothing behind', async () => {
    const count = 2_000;
    const waiting: (() => void)[] = [];
    const slow = await Behind.start((request, response) => {
      if (request.url === '/is-there') return void response.end('yes');
      waiting.push(() => response.end('all at once'));
      if (waiting.length === count) for (const answer of waiting) answer();
    });
    told.put(resources.slice, slice('web', ['127.0.0.1'], slow.port));
    await eventually(async () => expect((await ask(proxy.ports.http, 'shop.example', '/is-there')).text).toBe('yes'));
    await eventually(async () => expect(await proxy.measures.registry.getSingleMetricAsString('roundsman_ingress_connections')).toMatch(/connections 0$/m));
    const answers = await Promise.all(Array.from({ length: count }, () => ask(proxy.ports.http, 'shop.example', '/')));
    expect(answers.filter(({ status, text }) => status === 200 && text === 'all at once')).toHaveLength(count);
    await eventually(async () => {
      const metrics = await proxy.measures.registry.metrics();
      expect(metrics).toMatch(/roundsman_ingress_connections 0$/m);
      expect(metrics).toMatch(/roundsman_ingress_requests_open 0$/m);
    });
    await slow.stop();
  });
});
