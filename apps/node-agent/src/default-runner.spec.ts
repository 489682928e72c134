import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeRuntime } from '@roundsman/containers';
import { pino } from 'pino';
import { DefaultRunner } from './default-runner.ts';
import { settingsSchema } from './settings.ts';

const log = pino({ level: 'silent' });

describe('the runner that an agent keeps', () => {
  let runtime: FakeRuntime;
  beforeEach(() => {
    runtime = new FakeRuntime();
  });
  const kept = (more: Record<string, unknown> = {}): DefaultRunner =>
    new DefaultRunner(settingsSchema.parse({ node: 'node-1', dataDir: '/data', addresses: '127.0.0.1', natsUrl: 'nats://127.0.0.1:4222', runnerEntry: '/runner.js', ...more }), runtime, log);

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
    const passing = kept({ stopRunner: 'false' });
    await passing.start();
    await passing.stop();
    expect(await runtime.inspect('runner')).toMatchObject({ state: 'running' });
    const last = kept({ stopRunner: 'true' });
    await last.start();
    await last.stop();
    expect(await runtime.inspect('runner')).toMatchObject({ state: 'exited' });
  });

  it('is none where no entry is set', async () => {
    const none = kept({ runnerEntry: '' });
    await none.start();
    expect([none.problem(), none.condition()]).toEqual([undefined, undefined]);
    await none.stop();
    expect(await runtime.list()).toEqual([]);
  });
});
