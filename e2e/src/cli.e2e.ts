import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
interface State {
  readonly phase: string;
  readonly gateway: string;
  readonly ports: Record<string, number>;
  readonly supervisor: { pid: number };
  readonly processes: { name: string; pid: number }[];
}

const main = join(import.meta.dirname, '../../apps/roundsman/dist/main.js');
let folder = '';
const homes: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-cli-'));
});
afterEach(async () => {
  for (const home of homes.splice(0)) await roundsman(home, 'down', '--purge');
  rmSync(folder, { recursive: true, force: true });
});

function newHome(name: string): string {
  const home = join(folder, name);
  homes.push(home);
  return home;
}

function envOf(home: string): NodeJS.ProcessEnv {
  // Without Docker, also where there is one: cli-docker.e2e.ts is about that.
  return { ...process.env, DOCKER_HOST: 'unix:///no/docker.sock', ROUNDSMAN_HOME: home, NO_COLOR: '1', NODE_OPTIONS: '' };
}

function roundsman(home: string, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env: envOf(home), cwd: '/' }, (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }));
  });
}

const stateOf = (home: string): State => JSON.parse(readFileSync(join(home, 'state.json'), 'utf8')) as State;
const runs = (pid: number): boolean => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
/** Everything that runs and names this folder on its command line. */
const leftIn = (path: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && runs(Number(name)) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(path);
    } catch {
      return false;
    }
  });

interface Node {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

async function nodesOf(home: string): Promise<Node[]> {
  const response = await fetch(`${stateOf(home).gateway}/api/v1/nodes`, { headers: { authorization: `Bearer ${readFileSync(join(home, 'token'), 'utf8').trim()}` } });
  return ((await response.json()) as { items: Node[] }).items;
}

/** One that was ready may be called lost again for a moment, on a machine that is too busy. */
const nodesReady = async (home: string): Promise<number> => (await nodesOf(home)).filter(({ status }) => status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')).length;

describe('roundsman up', () => {
  it('runs in the background, says so when asked again, survives being killed, and is gone after down --purge', async () => {
    const home = newHome('one');
    const up = await roundsman(home, 'up', '--detach', '--nodes', '2');
    expect(up).toMatchObject({ code: 0, stdout: expect.stringContaining(`export KUBECONFIG=${home}/kubeconfig`) });
    // It returned when they were ready: one that is not any more has been lost since.
    expect((await nodesOf(home)).map(({ status }) => status.conditions.find(({ type }) => type === 'Ready')?.status)).toEqual(Array(2).fill(expect.stringMatching(/^(True|Unknown)$/)));
    await eventually(async () => expect(await nodesReady(home)).toBe(2));
    for (const file of ['kubeconfig', 'token', 'nats.nk', 'state.json']) expect(statSync(join(home, file)).mode & 0o077).toBe(0);
    // What a runner or an agent starts for a moment may have been there when it looked last; it looks again every ten seconds.
    const first = await eventually(() => {
      const state = stateOf(home);
      expect(state.processes.map(({ name }) => name).sort()).toEqual(['nats', 'postgres', 'probe-runner', 'probe-runner']);
      return state;
    }, { within: 60_000 });

    const again = await roundsman(home, 'up', '--detach');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(`runs already (process ${first.supervisor.pid}, 2 nodes)`) });
    expect(await roundsman(home, 'up', '--detach', '--nodes', '3')).toMatchObject({ code: 1, stderr: expect.stringContaining('it runs with other options than asked for now (--nodes)') });
    await eventually(async () => {
      const { code, stdout } = await roundsman(home, 'status', '--json');
      expect([JSON.parse(stdout), code]).toMatchObject([{ state: 'ready', ready: true, pid: first.supervisor.pid, problems: [] }, 0]);
    }, { within: 60_000 });

    process.kill(first.supervisor.pid, 'SIGKILL');
    await eventually(() => !runs(first.supervisor.pid));
    const killed = await roundsman(home, 'status');
    expect(killed).toMatchObject({ code: 1, stdout: expect.stringContaining('was killed') });
    expect((await roundsman(home, 'up', '--detach', '--nodes', '2')).code).toBe(0);
    const second = stateOf(home);
    expect(first.processes.filter(({ pid }) => runs(pid))).toEqual([]);
    expect(second.ports).toEqual(first.ports);
    await eventually(async () => expect(await nodesReady(home)).toBe(2));

    expect(await roundsman(home, 'down')).toMatchObject({ code: 0, stdout: 'Stopped.\n' });
    expect((await roundsman(home, 'status')).code).toBe(3);
    expect(existsSync(join(home, 'data'))).toBe(true);
    expect(leftIn(home)).toEqual([]);
    expect((await roundsman(home, 'down', '--purge')).code).toBe(0);
    expect(existsSync(home)).toBe(false);
  }, 300_000);

  it('goes on when NATS and Postgres die: both come back with the same ports and data', async () => {
    const home = newHome('servers');
    expect((await roundsman(home, 'up', '--detach', '--nodes', '1')).code).toBe(0);
    const before = stateOf(home);
    const server = (state: State, name: string): number => state.processes.find((one) => one.name === name)!.pid;
    for (const name of ['nats', 'postgres']) process.kill(server(before, name), 'SIGKILL');
    await eventually(() => {
      const now = stateOf(home);
      for (const name of ['nats', 'postgres']) expect(server(now, name)).not.toBe(server(before, name));
    }, { within: 90_000 });
    await eventually(async () => expect((await roundsman(home, 'status')).code).toBe(0), { within: 90_000 });
    expect(stateOf(home)).toMatchObject({ ports: before.ports, supervisor: before.supervisor });
    await eventually(async () => expect(await nodesReady(home)).toBe(1));
    expect(readFileSync(join(home, 'logs', 'roundsman.log'), 'utf8')).toContain('a server ended; it is started again');
    // Again and again: it does not hold within a minute of its last start, and status says why the product ended.
    await eventually(async () => {
      const { phase, supervisor, ...state } = stateOf(home);
      const nats = state.processes.find(({ name }) => name === 'nats');
      if (phase === 'ready' && nats !== undefined && runs(supervisor.pid) && runs(nats.pid)) process.kill(nats.pid, 'SIGKILL');
      expect(await roundsman(home, 'status')).toMatchObject({ code: 3, stdout: expect.stringMatching(/it had to end: NATS ended \(signal SIGKILL\) \d+ s after it had been started again/) });
    }, { within: 90_000 });
    expect(leftIn(home)).toEqual([]);
  }, 300_000);

  it('runs twice side by side, from two homes, started at the same time', async () => {
    const [a, b] = [newHome('a'), newHome('b')];
    const started = await Promise.all([a, b].map((home) => roundsman(home, 'up', '--detach', '--nodes', '1')));
    expect(started.map(({ code, stderr }) => [code, stderr])).toEqual([[0, expect.any(String)], [0, expect.any(String)]]);
    expect(stateOf(a).gateway).not.toBe(stateOf(b).gateway);
    expect(await roundsman(a, 'down', '--purge')).toMatchObject({ code: 0 });
    await eventually(async () => expect(await nodesReady(b)).toBe(1));
  }, 300_000);

  it('started twice at once in one home, runs once', async () => {
    const home = newHome('one');
    const started = await Promise.all([roundsman(home, 'up', '--detach', '--nodes', '1'), roundsman(home, 'up', '--detach', '--nodes', '1')]);
    expect(started.map(({ code }) => code)).toEqual([0, 0]);
    expect(leftIn(home).length).toBeGreaterThan(0);
    await eventually(async () => expect(await nodesReady(home)).toBe(1));
    const { supervisor } = stateOf(home);
    expect((await roundsman(home, 'down')).code).toBe(0);
    expect(runs(supervisor.pid)).toBe(false);
    expect(leftIn(home)).toEqual([]);
  }, 300_000);

  it('in the foreground stops everything on Ctrl-C', async () => {
    const home = newHome('foreground');
    const child: ChildProcess = spawn(process.execPath, [main, 'up', '--nodes', '1'], { env: envOf(home), stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await eventually(() => output.includes('Ctrl-C stops it'), { within: 90_000 });
    child.kill('SIGINT');
    // A terminal and npm each send one: the second must change nothing.
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
    expect(leftIn(home)).toEqual([]);
    expect(stateOf(home).phase).toBe('stopped');
  }, 300_000);

  it('leaves nothing running when it cannot start, and says why', async () => {
    const home = newHome('taken');
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const up = await roundsman(home, 'up', '--detach', '--nats-port', String(port));
    server.close();
    expect(up).toMatchObject({ code: 1, stderr: expect.stringContaining(`port ${port} (nats) is taken`) });
    expect(leftIn(home)).toEqual([]);
    expect((await roundsman(home, 'status')).code).toBe(3);
  }, 300_000);

  it('touches no folder that is not its own', async () => {
    const other = join(folder, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'thesis.txt'), 'years of work');
    for (const args of [['up', '--detach'], ['down', '--purge']]) expect(await roundsman(other, ...args)).toMatchObject({ code: 1, stderr: expect.stringContaining('not a home of Roundsman') });
    expect(readdirSync(other)).toEqual(['thesis.txt']);
  });

  it('says so when the home cannot be made', async () => {
    for (const home of ['/proc/roundsman', '/dev/null/roundsman']) expect(await roundsman(home, 'up', '--detach')).toMatchObject({ code: 1, stderr: expect.stringContaining(`cannot write to ${home}`) });
  });

  it('refuses bad arguments with exit code 2', async () => {
    const home = join(folder, 'none');
    for (const args of [['up', '--nodes', '0'], ['up', '--port', 'http'], ['fly'], ['serve', 'kitchen'], ['serve', 'intake,kitchen']]) expect([args, (await roundsman(home, ...args)).code]).toEqual([args, 2]);
    expect(existsSync(home)).toBe(false);
  });
});

describe('roundsman demo', () => {
  it('prints the reports of all three tasks and leaves nothing behind', async () => {
    const temporary = join(folder, 'tmp');
    mkdirSync(temporary, { mode: 0o1777 });
    const child = spawn(process.execPath, [main, 'demo'], { env: { ...envOf(folder), TMPDIR: temporary }, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    // With all that it printed: what it said last may come after its end.
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`demo ended with ${code}:\n${stderr}`);
    expect(stderr).toContain('100 %');
    // On a busy machine a prober may have been starved, or late by itself: it says so, and does not blame what it probed.
    const starved = stdout.includes(' cannot be trusted');
    for (const task of ['NetReach mesh', 'AppHttpHealthy shop', 'NetDNS names']) expect(stdout).toMatch(new RegExp(`^${task}, round 1: (✔ succeed, verdict healthy${starved ? '|\\? succeed, verdict suspect|✘ fail, verdict suspect' : ''})$`, 'm'));
    expect(stdout).toMatch(starved ? /│ node-3 │( (\S+ % \S+|x) +│){3}/ : /│ node-3 │( 100 % \S+ +│){3}/);
    expect(stdout).toContain('npx roundsman up');
    expect(readdirSync(temporary)).toEqual([]);
    expect(leftIn(temporary)).toEqual([]);
  }, 300_000);

  it('also leaves nothing behind when it is interrupted', async () => {
    const temporary = join(folder, 'tmp');
    mkdirSync(temporary, { mode: 0o1777 });
    const child = spawn(process.execPath, [main, 'demo'], { env: { ...envOf(folder), TMPDIR: temporary }, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await eventually(() => stderr.includes('Waiting for 3 nodes'), { within: 90_000 });
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 130) throw new Error(`demo ended with ${code}:\n${stderr}`);
    expect(readdirSync(temporary)).toEqual([]);
    expect(leftIn(temporary)).toEqual([]);
  }, 300_000);
});

describe('roundsman doctor', () => {
  it('says what the machine has', async () => {
    const { code, stdout } = await roundsman(join(folder, 'none'), 'doctor', '--json');
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: { name: string; state: string }[] };
    expect([code, ok]).toEqual([0, true]);
    expect(findings.filter(({ state }) => state === 'ok').map(({ name }) => name)).toEqual(expect.arrayContaining(['Node', 'NATS server', 'Postgres', 'ports', 'disk']));
  });

  it('looks for the Docker that is asked for', async () => {
    const { stdout } = await roundsman(join(folder, 'none'), 'doctor', '--json', '--docker', '/nowhere/docker.sock');
    const found = (JSON.parse(stdout) as { findings: { name: string; found: string }[] }).findings;
    expect(found.find(({ name }) => name === 'Docker')?.found).toContain('/nowhere/docker.sock');
  });

  it('fails, with what to do, when something needed is missing', async () => {
    const env = { ...envOf(join(folder, 'none')), ROUNDSMAN_NATS_SERVER: '', ROUNDSMAN_POSTGRES_BIN: '/nowhere', PATH: '/nowhere', HOME: folder, XDG_CACHE_HOME: join(folder, 'cache'), GOPATH: '/nowhere' };
    const { code, stdout } = await new Promise<Outcome>((resolve) => {
      execFile(process.execPath, [main, 'doctor'], { env }, (error, out, err) => resolve({ code: Number(error?.code ?? 0), stdout: out, stderr: err }));
    });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/MISSING Postgres/)]);
  });
});
