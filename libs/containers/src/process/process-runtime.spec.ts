import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import type { ContainerSpec, ContainerStatus } from '../runtime.ts';
import { isAlive, identityOf, processesMarked } from './identity.ts';
import { ProcessRuntime } from './process-runtime.ts';

const exists = (pid: number): Promise<boolean> => identityOf(pid).then((identity) => identity !== undefined);

describe('the process runtime', () => {
  let root: string;
  const open: ProcessRuntime[] = [];
  const runtime = (): ProcessRuntime => {
    const made = new ProcessRuntime(root);
    open.push(made);
    return made;
  };
  const spec = (id: string, script: string, more: Partial<ContainerSpec> = {}): ContainerSpec => ({
    id,
    labels: { app: id },
    command: ['/bin/sh', '-c', script],
    env: { PATH: process.env['PATH'] ?? '/bin:/usr/bin' },
    restart: { when: 'always', firstMs: 50, longestMs: 400 },
    ...more,
  });
  /** Resolves with the first status that fits, asking again at every change. */
  const until = async (one: ProcessRuntime, id: string, fits: (status: ContainerStatus) => boolean): Promise<ContainerStatus> => {
    const found = Promise.withResolvers<ContainerStatus>();
    const stop = one.watch((status) => {
      if (status.id === id && fits(status)) found.resolve(status);
    });
    const now = await one.inspect(id);
    if (now !== undefined && fits(now)) found.resolve(now);
    const late = setTimeout(() => found.reject(new Error('no such state within 60 s')), 60_000);
    return found.promise.finally(() => {
      clearTimeout(late);
      stop();
    });
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'roundsman-containers-'));
  });
  afterEach(async () => {
    // First: who still looks after a program starts it again when another one ends it.
    await Promise.all(open.splice(0).map((one) => one.release()));
    const last = runtime();
    for (const { id } of await last.list()) await last.stop(id, 0);
    await Promise.all(open.splice(0).map((one) => one.release()));
    await rm(root, { recursive: true, force: true });
  });

  it('gives a program its environment and nothing else, keeps its output, and lists it by label', async () => {
    const one = runtime();
    await one.start(spec('env', 'echo "v=$V home=$HOME"; exec sleep 60', { env: { V: '1' } }));
    await one.start(spec('other', 'exec sleep 60'));
    const running = await until(one, 'env', ({ state }) => state === 'running');
    expect(running).toMatchObject({ restarts: 0, adopted: false, labels: { app: 'env' } });
    await eventually(async () => expect(await one.logs('env')).toBe('v=1 home=\n'));
    expect((await one.list({ app: 'env' })).map(({ id }) => id)).toEqual(['env']);
    expect(await one.list()).toHaveLength(2);
  });

  it('starts a program that ended again, later each time, and tells how it ended', async () => {
    const one = runtime();
    await one.start(spec('flaky', 'exit 3'));
    const waiting = await until(one, 'flaky', ({ state, restarts }) => state === 'waiting' && restarts >= 3);
    expect(waiting).toMatchObject({ exitCode: 3 });
    // After it had begun: 400 ms after its end.
    expect(Date.parse(waiting.restartAt ?? '') - Date.parse(waiting.startedAt ?? '')).toBeGreaterThanOrEqual(400);
    await one.stop('flaky', 0);
    const stopped = await one.inspect('flaky');
    expect(stopped?.state).toBe('exited');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await one.inspect('flaky'))?.restarts).toBe(stopped?.restarts);
  });

  it('leaves a program alone that ended well, where the policy says so', async () => {
    const one = runtime();
    await one.start(spec('job', 'true', { restart: { when: 'on-failure' } }));
    expect(await until(one, 'job', ({ state }) => state === 'exited')).toMatchObject({ exitCode: 0, restarts: 0 });
  });

  it('says what is wrong with a program that cannot be started, and keeps trying', async () => {
    const one = runtime();
    await one.start({ ...spec('nowhere', ''), command: ['/no/such/program'] });
    expect(await until(one, 'nowhere', ({ restarts }) => restarts > 0)).toMatchObject({ state: 'waiting', problem: expect.stringContaining('ENOENT') });
    await expect(one.start({ ...spec('x', ''), id: '../x' })).rejects.toThrow('container id');
  });

  it('ends a whole group, by force when it must', async () => {
    const one = runtime();
    const file = join(root, 'child');
    const { pid } = await one.start(spec('stubborn', `trap "" TERM; sleep 60 & echo $! > ${file}; while :; do sleep 1; done`));
    let child = '';
    while (child === '') child = await readFile(file, 'utf8').catch(() => '');
    await one.stop('stubborn', 200);
    expect(await exists(pid ?? 0)).toBe(false);
    await eventually(async () => expect(await exists(Number(child))).toBe(false));
  });

  it('adopts what an earlier process started, and looks after it', async () => {
    const first = runtime();
    const { pid } = await first.start(spec('kept', 'while :; do echo tick; sleep 0.05; done'));
    await first.release();
    const second = runtime();
    const adopted = await second.start(spec('kept', 'while :; do echo tick; sleep 0.05; done'));
    expect(adopted).toMatchObject({ pid, adopted: true, state: 'running', restarts: 0 });
    // Still writing, though whoever opened its output is gone.
    const before = (await second.logs('kept')).length;
    await eventually(async () => expect((await second.logs('kept')).length).toBeGreaterThan(before));
    process.kill(pid ?? 0, 'SIGKILL');
    const again = await until(second, 'kept', ({ state, restarts }) => state === 'running' && restarts === 1);
    expect(again.pid).not.toBe(pid);
  });

  it('replaces it when the spec is another', async () => {
    const first = runtime();
    const { pid } = await first.start(spec('changed', 'exec sleep 60'));
    await first.release();
    const second = runtime();
    const replaced = await second.start(spec('changed', 'exec sleep 61'));
    expect(replaced).toMatchObject({ adopted: false, state: 'running' });
    expect(await exists(pid ?? 0)).toBe(false);
  });

  it('never has two under one id: a run without a pidfile is found and ended', async () => {
    const first = runtime();
    const { pid } = await first.start(spec('lost', 'exec sleep 60'));
    await first.release();
    await rm(join(root, 'lost', 'pid.json'));
    const second = runtime();
    const fresh = await second.start(spec('lost', 'exec sleep 60'));
    expect(fresh.pid).not.toBe(pid);
    expect(await exists(pid ?? 0)).toBe(false);
  });

  it('never touches a process that has got a dead one’s id', async () => {
    const first = runtime();
    await first.start(spec('dead', 'exec sleep 60'));
    await first.stop('dead', 0);
    await first.release();
    const stranger: ChildProcess = spawn('sleep', ['60']);
    const identity = await identityOf(stranger.pid ?? 0);
    // What a crash leaves behind: the pid is somebody else's now.
    await writeFile(join(root, 'dead', 'pid.json'), JSON.stringify({ ...identity, startTime: '1', startedAt: new Date().toISOString() }));
    const second = runtime();
    expect((await second.inspect('dead'))?.state).toBe('exited');
    await second.start(spec('dead', 'exec sleep 60'));
    await second.stop('dead', 0);
    expect(identity !== undefined && (await isAlive(identity))).toBe(true);
    stranger.kill('SIGKILL');
  });

  it('survives that its owner is killed: the next one adopts the program', async () => {
    const owner = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
    const script = `import { ProcessRuntime } from ${JSON.stringify(owner)};
      const status = await new ProcessRuntime(${JSON.stringify(root)}).start(${JSON.stringify(spec('orphan', 'exec sleep 60'))});
      process.stdout.write(String(status.pid)); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = Number(await new Promise<string>((resolve) => child.stdout.once('data', (data: Buffer) => resolve(data.toString()))));
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    expect(await exists(pid)).toBe(true);
    const adopted = await runtime().start(spec('orphan', 'exec sleep 60'));
    expect(adopted).toMatchObject({ pid, adopted: true });
  });

  it('keeps the output within its bound, newest last', async () => {
    const one = runtime();
    await one.start(spec('loud', 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; exec sleep 60', { logBytes: 8_192 }));
    await eventually(async () => expect((await one.logs('loud')).slice(-10)).toBe('line 2999\n'), { within: 60_000 });
    await one.rotate();
    const text = await one.logs('loud');
    expect(text.length).toBeLessThanOrEqual(8_192);
    expect(text.endsWith('line 2999\n')).toBe(true);
    expect(await one.logs('loud', { tailLines: 2 })).toBe('line 2998\nline 2999\n');
  });

  it('goes on when what a program left cannot be cleared', async () => {
    const one = runtime();
    const { pid } = await one.start(spec('stuck', 'exec sleep 60'));
    const pidFile = join(root, 'stuck', 'pid.json');
    await rm(pidFile);
    await mkdir(join(pidFile, 'in the way'), { recursive: true });
    process.kill(pid!, 'SIGKILL');
    const { problem, signal } = await until(one, 'stuck', ({ state }) => state === 'waiting');
    expect(problem).toContain('pid.json');
    expect(signal).toBe('SIGKILL');
    // Nor started again, as long as nobody could find it then.
    expect((await until(one, 'stuck', ({ state, restarts }) => state === 'waiting' && restarts >= 2)).problem).toContain('pid.json');
    expect(await processesMarked(join(root, 'stuck'))).toEqual([]);
    await rm(pidFile, { recursive: true });
    const again = await until(one, 'stuck', ({ state }) => state === 'running');
    expect(again.pid).not.toBe(pid);
    expect(again.problem).toBeUndefined();
  });
});
