import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LiveSample, Materials, RoundResult, WorkOrder } from '@roundsman/api';
import { answerLogins, endpoint, ensureRunnerConsumer, ensureStreams, messages, runnerIdentity, serviceIdentity, type Bus, type Subscription } from '@roundsman/bus';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { runnerConfigSchema } from '../config.ts';
import { runnerEntry, runnerNodeFlags } from '../index.ts';
import type { RunnerLog } from '../log.ts';
import { keyOf } from '../round/key.ts';
import { Runner } from '../runner.ts';

export type Beat = { runner: string; pod?: string | undefined; addresses: { family: string; address: string }[]; instance: string; ready: boolean; ports: Record<string, number>; running: { taskUid: string; round: number }[] };

/** A runner's whole world on a real NATS with the product's permissions: who sends work, who takes results, who listens. */
export class Rig {
  readonly results: RoundResult[] = [];
  readonly live: LiveSample[] = [];
  readonly beats: Beat[] = [];
  /** Rounds the reporter says are in Postgres; it adds what it received while `commits` is on. */
  readonly committed = new Set<string>();
  commits = true;
  /** How often somebody without an nkey has asked to be let in. */
  logins = 0;
  /** Rounds asked about, with when their results were had. */
  readonly asked = new Map<string, string | undefined>();
  materials: (taskUid: string) => Promise<Materials> | Materials = () => ({});
  #logins: Subscription | undefined;
  readonly #folders: string[] = [];
  readonly #processes = new Map<string, () => Promise<void>>();
  readonly #logs = new Map<string, () => string>();
  readonly #stops: (() => Promise<void>)[] = [];

  private constructor(
    readonly nats: TestNats,
    readonly scheduler: Bus,
    readonly controllers: Bus,
  ) {}

  static async start(...runners: string[]): Promise<Rig> {
    const identities = [...(['scheduler', 'reporter', 'controllers', 'gateway'] as const).map(serviceIdentity), ...runners.map((name) => runnerIdentity(name, nodeOf(name)))];
    const nats = await startNats({ identities, issuer: true });
    const scheduler = await nats.connect('scheduler');
    const controllers = await nats.connect('controllers');
    const rig = new Rig(nats, scheduler, controllers);
    await ensureStreams(scheduler);
    for (const name of runners) await ensureRunnerConsumer(scheduler, name);
    await scheduler.serve({ name: 'scheduler', version: '1.0.0', description: 'test' }, [endpoint(messages.materials, ({ taskUid }) => rig.materials(taskUid))]);
    const reporter = await nats.connect('reporter');
    await reporter.serve({ name: 'reporter', version: '1.0.0', description: 'test' }, [
      endpoint(messages.committed, ({ rounds }) => {
        for (const round of rounds) rig.asked.set(keyOf(round), round.endedAt);
        return { committed: rounds.filter((round) => rig.committed.has(keyOf(round))) };
      }),
    ]);
    const consume = { durable: 'reporter', ackWaitMs: 30_000, maxDeliver: 5, maxAckPending: 1_000, create: true };
    await reporter.consume(messages.result, consume, async ([delivery]) => {
      if (delivery === undefined) return;
      rig.results.push(delivery.payload);
      if (rig.commits && delivery.payload.outcome !== undefined) rig.committed.add(keyOf(delivery.payload));
      await delivery.ack();
    });
    const gateway = await nats.connect('gateway');
    await gateway.subscribe(messages.live, {}, ({ payload }) => void rig.live.push(payload));
    await controllers.subscribe(messages.runnerBeat, {}, ({ payload }) => void rig.beats.push(payload));
    return rig;
  }

  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'roundsman-runner-'));
    this.#folders.push(folder);
    return folder;
  }

  /** A runner in this process; `dataDir` of an earlier one brings that back. */
  async runner(name: string, more: { dataDir?: string; script?: URL; settings?: Record<string, string> } = {}): Promise<Runner> {
    const dataDir = more.dataDir ?? (await this.folder());
    const bus = await this.nats.connect(`runner-${name}`);
    const config = runnerConfigSchema.parse({ name, node: nodeOf(name), dataDir, bindAddresses: '127.0.0.1,::1', keepCommittedSeconds: '0', ...more.settings });
    const runner = new Runner({ config, bus, log: quiet, version: '0.0.0', ...(more.script === undefined ? {} : { script: more.script }) });
    await runner.start();
    this.#stops.push(() => runner.stop());
    return runner;
  }

  /** A runner as the product starts it: a process of its own. Resolves with its first heartbeat. */
  async process(name: string, dataDir: string, env: Record<string, string> = {}): Promise<{ child: ChildProcess; beat: Beat; log: () => string }> {
    // The earlier one's heartbeats must not be taken for this one's.
    await this.#processes.get(name)?.();
    const seedFile = join(await this.folder(), 'seed');
    await writeFile(seedFile, this.nats.seed(`runner-${name}`));
    const child = spawn(process.execPath, [...runnerNodeFlags, runnerEntry], {
      env: {
        PATH: process.env['PATH'],
        ROUNDSMAN_NATS_URL: this.nats.url,
        ROUNDSMAN_NATS_SEED_FILE: seedFile,
        ROUNDSMAN_RUNNER_NAME: name,
        ROUNDSMAN_NODE: nodeOf(name),
        ROUNDSMAN_RUNTIME: 'default',
        ROUNDSMAN_DATA_DIR: dataDir,
        ROUNDSMAN_BIND_ADDRESSES: '127.0.0.1',
        ROUNDSMAN_RUNNER_KEEP_COMMITTED_SECONDS: '0',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    this.#logs.set(name, () => log);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (log += data.toString()));
    const kill = (): Promise<void> => ended(child, 'SIGKILL');
    this.#processes.set(name, kill);
    this.#stops.push(kill);
    // One that an earlier process has sent may still be on its way.
    const earlier = new Set(this.beats.map(({ instance }) => instance));
    let over = false;
    child.once('close', () => (over = true));
    const beat = await eventually(() => over || (this.beats.find((one) => one.runner === name && one.ready && !earlier.has(one.instance)) ?? false), { within: 60_000 }).catch((error: unknown) => {
      throw new Error(`no heartbeat of ${name}: ${String(error)}; its log:\n${log}`, { cause: error });
    });
    if (typeof beat === 'boolean') throw new Error(`the runner ended with ${child.exitCode}: ${log}`);
    return { child, beat, log: () => log };
  }

  /** What the last process of that name has written so far, also before its first heartbeat. */
  logOf(name: string): string {
    return this.#logs.get(name)?.() ?? '';
  }

  /** What a runner in a pod has in its environment; with a token instead of an nkey. */
  async podEnv(more: Record<string, string> = {}): Promise<Record<string, string>> {
    const tokenFile = join(await this.folder(), 'token');
    await writeFile(tokenFile, `${token}\n`);
    return { ROUNDSMAN_NATS_SEED_FILE: '', ROUNDSMAN_NATS_TOKEN_FILE: tokenFile, ROUNDSMAN_RUNNER_ON_STOP: 'report', ROUNDSMAN_BIND_ADDRESSES: 'any', ...more };
  }

  /** From now on runners are let in by the token, for so long. */
  async answerLogins(lifeMs = 3_600_000): Promise<void> {
    await this.#logins?.stop();
    this.#logins = await answerLogins(this.controllers, { issuerSeed: this.nats.issuerSeed, lifeMs }, ({ user, password }) => {
      this.logins += 1;
      return password === token ? { identity: runnerIdentity(user, nodeOf(user)) } : { refused: 'the token is of no runtime' };
    });
  }

  async send(order: WorkOrder): Promise<{ duplicate: boolean }> {
    const { runner, kind, taskUid, round } = order;
    return this.scheduler.append(messages.work, { runner, kind, taskUid, round }, order, { msgId: `${taskUid}:${round}:${runner}:${Math.random()}` });
  }

  /** The result's last part, once it is here. */
  outcome(order: Pick<WorkOrder, 'taskUid' | 'round'>, within = 60_000): Promise<RoundResult & Required<Pick<RoundResult, 'outcome'>>> {
    return eventually(() => (this.results.find((one) => keyOf(one) === keyOf(order) && one.outcome !== undefined) as never) ?? false, { within });
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#stops.map((stop) => stop()));
    await this.nats.stop();
    await Promise.all(this.#folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

const token = 'of-the-runtime';

/** How often a runner's echo target was asked for a task, by whoever is gone, too: what came before this question was read before its answer. */
export async function receivedBy({ echo }: Runner, task: string): Promise<number> {
  await fetch(`http://127.0.0.1:${echo.ports.http}/healthz`);
  return echo.counters.get(task)?.total ?? 0;
}

export const nodeOf = (runner: string): string => runner.replace('runner', 'node');

export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}

/** An order that starts now: `qps` for `seconds` at an HTTP URL. */
export function httpOrder(runner: string, task: string, url: string, change: Partial<WorkOrder> & { qps?: number; seconds?: number } = {}): WorkOrder {
  const { qps = 20, seconds = 1, ...rest } = change;
  const now = Date.now();
  return {
    runner,
    node: nodeOf(runner),
    kind: 'AppHttpHealthy',
    namespace: 'default',
    task,
    taskUid: `uid-${task}`,
    round: 1,
    roundStart: new Date(now).toISOString(),
    deadline: new Date(now + 60_000).toISOString(),
    request: { durationMs: seconds * 1_000, qps, timeoutMs: 10_000 },
    expect: { successRate: 1 },
    targets: [{ id: 'url', layer: 'url', probe: 'http', url, method: 'GET', headers: [], http2: false, hasBody: false, hasTls: false }],
    needsMaterials: false,
    ...rest,
  };
}

const quiet: RunnerLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
