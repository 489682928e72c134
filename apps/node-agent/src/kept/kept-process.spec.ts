import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeRuntime } from '@roundsman/containers';
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
  afterEach(() => rm(dataDir, { recursive: true, force: true }));
  const ingress = async (more: Record<string, unknown> = {}): Promise<NodeIngress> => {
    const config = settingsSchema.parse({ node: 'node-1', dataDir, natsUrl: 'nats://127.0.0.1:4222', ingressEntry: '/ingress.js', ingressSeedFile: '/seed', ...more });
    const one = new NodeIngress({ config, runtime, addresses: ['10.0.0.1', 'fd00::1'], log });
    await one.start();
    return one;
  };

  it('has free ports, the same after a restart of the agent, and tells them while it runs', async () => {
    const first = await ingress();
    expect(first.endpoint).toMatch(/^http=10\.0\.0\.1:(\d+),https=10\.0\.0\.1:(\d+),http=\[fd00::1\]:\1,https=\[fd00::1\]:\2$/);
    expect(runtime.specs.get('ingress')?.env).toMatchObject({ ROUNDSMAN_INGRESS_NODE: 'node-1', ROUNDSMAN_INGRESS_BIND: '127.0.0.1,10.0.0.1,fd00::1', ROUNDSMAN_INGRESS_NATS_SEED_FILE: '/seed' });
    expect((await ingress()).endpoint).toBe(first.endpoint);
    runtime.end('ingress', 1);
    expect(first.endpoint).toBeUndefined();
    expect(first.condition()).toMatchObject({ type: 'IngressRunning', status: 'False', reason: 'IngressEnded', message: 'the ingress proxy ended with code 1' });
  });

  it('takes others when somebody has them by now, and those that are set in any case', async () => {
    const first = await ingress();
    const port = Number(/http=10\.0\.0\.1:(\d+)/.exec(first.endpoint ?? '')?.[1]);
    await first.stop(true);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, resolve));
    expect((await ingress()).endpoint).not.toContain(`http=10.0.0.1:${port},`);
    await new Promise((resolve) => other.close(resolve));
    expect((await ingress({ ingressHttpPort: '80', ingressHttpsPort: '443' })).endpoint).toContain('http=10.0.0.1:80,https=10.0.0.1:443');
  });
});
