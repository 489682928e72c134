import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { agentIdentity, ensureStreams, messages, runnerIdentity, serviceIdentity } from '@roundsman/bus';
import { runServices, settingName, type RunningServices } from '@roundsman/service';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { service } from './index.ts';

const runnerEntry = fileURLToPath(new URL('../../probe-runner/dist/main.js', import.meta.url));
const nodes = ['node-1', 'node-2'];

interface NodeBeat {
  node: string;
  instance: string;
  capacity: Record<string, string>;
  nodeInfo: Record<string, string>;
  addresses: { type: string; address: string }[];
  conditions: { type: string; status: string; message: string }[];
}

/** Process ids of the runners with this name, whoever started them. */
async function runnerPids(dataDir: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [environment, command] = await Promise.all([readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''), readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')]);
    if (command.includes(runnerEntry) && environment.split('\0').includes(`ROUNDSMAN_DATA_DIR=${join(dataDir, 'runner')}`)) found.push(Number(pid));
  }
  return found;
}

describe('node agents', () => {
  let nats: TestNats;
  let root: string;
  const nodeBeats: NodeBeat[] = [];
  const runnerBeats: { runner: string; node: string; instance: string; ready: boolean }[] = [];
  let running: RunningServices | undefined;

  beforeAll(async () => {
    nats = await startNats({ identities: [...(['scheduler', 'controllers'] as const).map(serviceIdentity), ...nodes.flatMap((node) => [agentIdentity(node), runnerIdentity(`default-${node}`, node)])] });
    root = await mkdtemp(join(tmpdir(), 'roundsman-agent-'));
    await ensureStreams(await nats.connect('scheduler'));
    const controllers = await nats.connect('controllers');
    await controllers.subscribe(messages.nodeBeat, {}, ({ payload }) => void nodeBeats.push(payload as NodeBeat));
    await controllers.subscribe(messages.runnerBeat, {}, ({ payload }) => void runnerBeats.push(payload));
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    for (const node of nodes) {
      for (const pid of await runnerPids(join(root, node))) process.kill(pid, 'SIGKILL');
      // Gone, before the next agent looks for one that it could adopt, and before its folder is removed.
      await eventually(async () => expect(await runnerPids(join(root, node))).toEqual([]));
    }
  });
  afterAll(async () => {
    await nats.stop();
    await rm(root, { recursive: true, force: true });
  });

  const environment = async (node: string, more: Record<string, string> = {}): Promise<Record<string, string>> => {
    const seedFile = join(root, `${node}.nk`);
    await writeFile(seedFile, nats.seed(`runner-default-${node}`));
    const settings = { node, dataDir: join(root, node), natsUrl: nats.url, runnerEntry, runnerSeedFile: seedFile, share: '0.5', ...more };
    return Object.fromEntries(Object.entries(settings).map(([key, value]) => [settingName('node-agent', key), value]));
  };
  const up = async (more: Record<string, string> = {}): Promise<RunningServices> => {
    const runs = await Promise.all(nodes.map(async (node) => ({ definition: service, instance: node, identity: `agent-${node}`, env: await environment(node, more) })));
    running = await runServices(runs, { env: {}, log: pino({ level: 'silent' }), connect: (identity) => nats.connect(identity) });
    return running;
  };
  const runnerBeat = (node: string, since: number) => eventually(() => runnerBeats.slice(since).find((beat) => beat.node === node && beat.ready) ?? false, { within: 60_000 });

  it('are there and say what their share of the machine is, and each keeps a runner that beats', async () => {
    const { health } = await up({ memoryMi: '512' });
    const beats = await Promise.all(nodes.map((node) => eventually(() => nodeBeats.find((beat) => beat.node === node) ?? false)));
    for (const [i, beat] of beats.entries()) {
      expect(beat.capacity).toMatchObject({ cpu: expect.stringMatching(/^\d+m?$/), memory: '524288Ki', pods: '110' });
      expect(beat.nodeInfo).toMatchObject({ operatingSystem: 'linux', containerRuntimeVersion: `process://${process.versions.node}`, kubeletVersion: expect.stringMatching(/^v1\.32\.0\+roundsman/) });
      expect(beat.addresses).toEqual([{ type: 'InternalIP', address: '127.0.0.1' }, { type: 'Hostname', address: nodes[i] }]);
      expect(beat.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    }
    // One machine, yet two nodes.
    expect(beats[0]?.nodeInfo['machineID']).not.toBe(beats[1]?.nodeInfo['machineID']);
    expect(beats[0]?.nodeInfo['bootID']).toBe(beats[1]?.nodeInfo['bootID']);
    for (const node of nodes) expect(await runnerBeat(node, 0)).toMatchObject({ runner: `default-${node}` });
    expect(health.report('node-agent').checks.concat(health.report().checks).filter(({ problem }) => problem !== undefined)).toEqual([]);
    await running?.stop();
    for (const node of nodes) expect(await runnerPids(join(root, node))).toEqual([]);
  });

  it('start a runner again that was killed, and say so meanwhile', async () => {
    await up();
    const first = await runnerBeat('node-1', runnerBeats.length);
    const [pid = 0] = await runnerPids(join(root, 'node-1'));
    const since = runnerBeats.length;
    process.kill(pid, 'SIGKILL');
    await eventually(() => running?.health.report().checks.some(({ problem }) => problem?.includes('was ended by SIGKILL')) ?? false);
    const second = await eventually(() => runnerBeats.slice(since).find(({ node, instance, ready }) => node === 'node-1' && instance !== first.instance && ready) ?? false, { within: 60_000 });
    expect(second.runner).toBe('default-node-1');
    expect(await runnerPids(join(root, 'node-1'))).toHaveLength(1);
  });

  it('killed and started again, adopt the runner that went on: one runner, without a gap', async () => {
    const program = `
      import { runServices, makeLogger } from ${JSON.stringify(fileURLToPath(import.meta.resolve('@roundsman/service')).replace('/src/index.ts', '/dist/index.js'))};
      import { connectBus } from ${JSON.stringify(fileURLToPath(import.meta.resolve('@roundsman/bus')).replace('/src/index.ts', '/dist/index.js'))};
      import { service } from ${JSON.stringify(fileURLToPath(new URL('../dist/index.js', import.meta.url)))};
      await runServices([{ definition: service, identity: 'agent-node-1' }], {
        env: process.env, log: makeLogger({ level: 'warn', format: 'json' }),
        connect: (identity) => connectBus({ servers: ${JSON.stringify(nats.url)}, identity, seed: process.env.SEED }),
      });
      process.stdout.write('up');`;
    const agent = async (): Promise<ChildProcess> => {
      const env = { PATH: process.env['PATH'], SEED: nats.seed('agent-node-1'), ...(await environment('node-1')) };
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve, reject) => {
        child.stdout?.once('data', resolve);
        child.once('exit', (code) => reject(new Error(`the agent ended with ${code}`)));
      });
      return child;
    };
    const kill = async (child: ChildProcess): Promise<void> => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    };
    let since = runnerBeats.length;
    const first = await agent();
    const before = await runnerBeat('node-1', since);
    const pids = await runnerPids(join(root, 'node-1'));
    await kill(first);
    expect(await runnerPids(join(root, 'node-1'))).toEqual(pids);
    const second = await agent();
    since = runnerBeats.length;
    expect(await runnerBeat('node-1', since)).toMatchObject({ instance: before.instance });
    expect(await runnerPids(join(root, 'node-1'))).toEqual(pids);
    // It looks after the adopted one as after its own.
    since = runnerBeats.length;
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await eventually(() => runnerBeats.slice(since).some(({ node, instance }) => node === 'node-1' && instance !== before.instance), { within: 60_000 });
    expect(await runnerPids(join(root, 'node-1'))).toHaveLength(1);
    await kill(second);
  });

  it('leave the runner running when told to', async () => {
    await up({ stopRunner: 'false' });
    await runnerBeat('node-1', runnerBeats.length);
    const pids = await runnerPids(join(root, 'node-1'));
    await running?.stop();
    expect(await runnerPids(join(root, 'node-1'))).toEqual(pids);
  });
});
