import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort } from '@roundsman/testkit';
import { ingressEntry } from './index.ts';
import { ingress, resources, rule, service, slice } from './testing/objects.ts';
import { ask, Behind, node, ToldNetwork } from './testing/rig.ts';

describe('an ingress proxy as a process', () => {
  let told: ToldNetwork;
  let folder: string;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    told = await ToldNetwork.start();
    folder = await mkdtemp(join(tmpdir(), 'roundsman-ingress-'));
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await told.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const start = async (more: Record<string, string> = {}): Promise<ChildProcess> => {
    const seedFile = join(folder, 'seed.nk');
    await writeFile(seedFile, told.nats.seed(`ingress-${node}`));
    const env = { ROUNDSMAN_INGRESS_NODE: node, ROUNDSMAN_INGRESS_NATS_URL: told.nats.url, ROUNDSMAN_INGRESS_NATS_SEED_FILE: seedFile, ROUNDSMAN_INGRESS_BIND: '127.0.0.1,127.0.0.2', ROUNDSMAN_INGRESS_LOG_LEVEL: 'warn', ROUNDSMAN_INGRESS_DRAIN_MS: '60000', ...more };
    const child = spawn(process.execPath, [ingressEntry], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  const ended = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.once('exit', (code) => resolve(code)));

  it('lets requests in, tells how it is, and answers what is under way when it is told to end', async () => {
    let underWay: ServerResponse | undefined;
    const web = await Behind.start((request, response) => {
      if (request.url === '/last') underWay = response;
      else response.end('web');
    });
    told.put(resources.service, service('web'));
    told.put(resources.slice, slice('web', ['127.0.0.1'], web.port));
    told.put(resources.ingress, ingress('shop', { rules: [rule('shop.example', { '/': 'web:80' })] }));
    const [http, https, health] = await Promise.all([freePort(), freePort(), freePort()]);
    const child = await start({ ROUNDSMAN_INGRESS_HTTP_PORT: String(http), ROUNDSMAN_INGRESS_HTTPS_PORT: String(https), ROUNDSMAN_INGRESS_HEALTH_PORT: String(health) });
    await eventually(async () => expect((await ask(health, 'health', '/readyz')).status).toBe(200), { within: 60_000 });
    expect(await ask(http, 'shop.example', '/')).toMatchObject({ status: 200, text: 'web' });
    // A request is over a moment after its answer has arrived.
    const metrics = await eventually(async () => {
      const { text } = await ask(health, 'health', '/metrics');
      expect(text).toContain('roundsman_ingress_requests_total{ingress="default/shop",code="200"} 1');
      return text;
    });
    expect(metrics).toContain('process_cpu_user_seconds_total');
    const last = ask(http, 'shop.example', '/last');
    await eventually(() => underWay !== undefined);
    const exit = ended(child);
    child.kill('SIGTERM');
    // It ends: nobody is let in any more.
    await eventually(() => expect(ask(http, 'shop.example', '/')).rejects.toThrow('ECONNREFUSED'));
    underWay?.end('web');
    expect((await last).text).toBe('web');
    expect(await exit).toBe(0);
    await web.stop();
  });

  it('refuses settings it does not know and ports that are taken, naming them', async () => {
    const unknown = await start({ ROUNDSMAN_INGRESS_PORT: '80' });
    expect(await text(unknown.stderr!)).toContain('ROUNDSMAN_INGRESS_PORT: no such setting');
    const taken = await Behind.start((_request, response) => response.end());
    const child = await start({ ROUNDSMAN_INGRESS_HTTP_PORT: String(taken.port) });
    const exit = ended(child);
    expect(await text(child.stderr!)).toContain(`EADDRINUSE: address already in use 127.0.0.1:${taken.port}`);
    expect(await exit).toBe(1);
    await taken.stop();
  });
});
