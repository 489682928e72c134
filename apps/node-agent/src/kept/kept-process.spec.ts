import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeRuntime } from '@roundsman/containers';
import { eventually } from '@roundsman/testkit';
import { pino } from 'pino';
import { settingsSchema } from '../settings.ts';
import { KeptProcess } from './kept-process.ts';
import { NodeIngress } from './node-ingress.ts';
import { keptRunner } from './runner-spec.ts';

const log = pino({ level: 'silent' });

describe('the runner that an agent keeps', () => {
  let runtime: FakeRuntime;
  beforeEach(() => {
    runtime = new FakeRuntime();
  });
  const settings = (more: Record<string, unknown> = {}) => settingsSchema.parse({ node: 'node-1', dataDir: '/data', addresses: '127.0.0.1', natsUrl: 'nats://127.0.0.1:4222', runnerEntry: '/runner.js', ...more });
  const kept = (): KeptProcess => new KeptProcess(keptRunner(settings())!, runtime, log);

  it('is told as a condition of the node: before it runs, while it runs, after it ended, and again', async () => {
    const runner = kept();
    expect(runner.condition()).toMatchObject({ status: 'False', message: 'the runner was not started yet' });
    await runner.start();
    expect(runner.condition()).toMatchObject({ type: 'RunnerRunning', status: 'True' });
    runtime.end('runner', 3);
    expect(runner.condition()).toMatchObject({ status: 'False', reason: 'RunnerEnded', message: 'the runner ended with code 3' });
    expect(runner.problem()).toBe('the runner ended with code 3');
    await runtime.start(runtime.specs.get('runner')!);
    expect(runner.problem()).toBeUndefined();
    // Containers of others on this node say nothing about it.
    await runtime.start({ ...runtime.specs.get('runner')!, id: 'other' });
    runtime.end('other', 1);
    expect(runner.problem()).toBeUndefined();
  });

  it('outlives its agent unless it is to end with it', async () => {
    const passing = kept();
    await passing.start();
    await passing.stop(false);
    expect(await runtime.inspect('runner')).toMatchObject({ state: 'running' });
    const last = kept();
    await last.start();
    await last.stop(true);
    expect(await runtime.inspect('runner')).toMatchObject({ state: 'exited' });
  });

  it('is none where no entry is set', () => {
    expect(keptRunner(settings({ runnerEntry: '' }))).toBeUndefined();
  });
});

describe('the ingress proxy that an agent keeps', () => {
  let runtime: FakeRuntime;
  let dataDir: string;
  beforeEach(async () => {
    runtime = new FakeRuntime();
    dataDir = await mkdtemp(join(tmpdir(), 'roundsman-ingress-'));
  });
  afterEach(async () => {
    for (const one of kept.splice(0)) await one.stop(true);
    await rm(dataDir, { recursive: true, force: true });
  });
  const kept: NodeIngress[] = [];
  const ingress = async (more: Record<string, unknown> = {}): Promise<NodeIngress> => {
    const config = settingsSchema.parse({ node: 'node-1', dataDir, natsUrl: 'nats://127.0.0.1:4222', ingressEntry: '/ingress.js', ingressSeedFile: '/seed', ingressSettings: 'RESPONSE_MS=90000,LOG_LEVEL=debug', ...more });
    const one = new NodeIngress({ config, runtime, addresses: ['10.0.0.1', 'fd00::1'], log });
    kept.push(one);
    await one.start();
    return one;
  };

  const portsOf = (): { http: number; https: number } => {
    const { ROUNDSMAN_INGRESS_HTTP_PORT: http, ROUNDSMAN_INGRESS_HTTPS_PORT: https } = runtime.specs.get('ingress')!.env;
    return { http: Number(http), https: Number(https) };
  };
  const listen = (port: number): Promise<Server> => new Promise((resolve) => {
    const server = createServer().listen(port, () => resolve(server));
  });

  it('is told once it listens, and no longer when it has ended', async () => {
    const one = await ingress();
    expect(one.endpoint).toBeUndefined();
    expect(one.condition()).toMatchObject({ status: 'False', reason: 'IngressNotListening' });
    const { http, https } = portsOf();
    const proxy = await listen(http);
    await eventually(() => expect(one.endpoint).toBe(`http=10.0.0.1:${http},https=10.0.0.1:${https},http=[fd00::1]:${http},https=[fd00::1]:${https}`));
    expect(one.condition()).toMatchObject({ status: 'True', message: `requests are let in at ports ${http} (HTTP) and ${https} (HTTPS)` });
    expect(runtime.specs.get('ingress')?.env).toMatchObject({ ROUNDSMAN_INGRESS_NODE: 'node-1', ROUNDSMAN_INGRESS_BIND: '127.0.0.1,10.0.0.1,fd00::1', ROUNDSMAN_INGRESS_NATS_SEED_FILE: '/seed', ROUNDSMAN_INGRESS_RESPONSE_MS: '90000', ROUNDSMAN_INGRESS_LOG_LEVEL: 'debug' });
    runtime.end('ingress', 1);
    expect(one.endpoint).toBeUndefined();
    expect(one.condition()).toMatchObject({ type: 'IngressRunning', status: 'False', reason: 'IngressEnded', message: 'the ingress proxy ended with code 1' });
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('has the ports that are set, else the same as before its agent was started again, else others', async () => {
    const first = await ingress();
    const before = portsOf();
    const proxy = await listen(before.http);
    await ingress();
    expect(portsOf()).toEqual(before);
    await first.stop(true);
    await ingress();
    expect(portsOf().http).not.toBe(before.http);
    expect(portsOf().https).toBe(before.https);
    await new Promise((resolve) => proxy.close(resolve));
    await ingress({ ingressHttpPort: '80', ingressHttpsPort: '443' });
    expect(portsOf()).toEqual({ http: 80, https: 443 });
  });
});
