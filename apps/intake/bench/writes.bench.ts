import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { messages, type Bus, type Write } from '@roundsman/bus';
import { migrateStore } from '@roundsman/store';
import { bounded, compared, printFigures, startNats, startPostgres, type Figure } from '@roundsman/testkit';
import { Pool } from 'pg';

const inFlight = 64;
const watches = 100;
const warmUpMs = 1_500;
const measuredMs = 4_000;

/** A child that answers in lines; killed with its parent, because its standard input ends. */
class Child {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(file: string, args: string[], env: NodeJS.ProcessEnv) {
    this.#process = spawn(process.execPath, [join(import.meta.dirname, file), ...args], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
    const lines: Interface = createInterface({ input: this.#process.stdout! });
    this.#lines = lines[Symbol.asyncIterator]();
  }
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the child process ended');
    return value as string;
  }
  ask(line: string): Promise<string> {
    this.#process.stdin!.write(`${line}\n`);
    return this.line();
  }
  stop(): void {
    this.#process.kill('SIGKILL');
  }
}

const task = (name: string, qps: number): Record<string, unknown> => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name, labels: { team: 'bench', tier: 'a' }, annotations: { note: 'written by the benchmark' } },
  spec: { schedule: { schedule: '0 60', roundTimeoutMinute: 10, roundNumber: -1 }, request: { durationInSecond: 10, qps, perRequestTimeoutInMS: 800 }, expect: { successRate: 0.99, meanAccessDelayInMs: 300 } },
});

const resource = 'netreaches.roundsman.io';
interface Counts {
  writes: number;
  latencies: number[];
}

/** One of the writers: an object is made, changed nine times (each with the version it read) and removed, again and again. */
async function lane(bus: Bus, lane: number, counts: Counts, until: { over: boolean }): Promise<void> {
  const write = async (request: Write): Promise<Record<string, unknown>> => {
    const begun = performance.now();
    const { object } = await bus.request(messages.write, {}, request);
    counts.writes++;
    counts.latencies.push(performance.now() - begun);
    return object;
  };
  for (let turn = 0; !until.over; turn++) {
    const name = `lane-${lane}-${turn}`;
    let object = await write({ operation: 'create', resource, namespace: 'default', object: task(name, 1) });
    for (let qps = 2; qps <= 10 && !until.over; qps++) {
      object = await write({ operation: 'update', resource, namespace: 'default', name, object: { ...object, spec: task(name, qps)['spec'] } });
    }
    if (!until.over) await write({ operation: 'delete', resource, namespace: 'default', name });
  }
}

async function load(bus: Bus, ms: number): Promise<{ perSecond: number; p99Ms: number; writes: number }> {
  const counts: Counts = { writes: 0, latencies: [] };
  const until = { over: false };
  const lanes = Array.from({ length: inFlight }, (_, index) => lane(bus, index + Math.floor(Math.random() * 1e6) * 100, counts, until));
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const { writes } = counts;
  const seconds = (performance.now() - begun) / 1000;
  until.over = true;
  await Promise.all(lanes);
  const sorted = counts.latencies.toSorted((a, b) => a - b);
  return { perSecond: writes / seconds, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN, writes: counts.writes };
}

/** The peer gives the same versions: every write in a transaction of its own that takes the next from one row; no validation, no bus. */
async function onePerTransaction(databaseUrl: string): Promise<number> {
  const pool = new Pool({ connectionString: databaseUrl, max: inFlight });
  await pool.query('create table peer_head (version bigint); insert into peer_head values (0); create table peer_objects (name text primary key, version bigint, body json); create table peer_changes (version bigint primary key, name text, body json)');
  let writes = 0;
  const until = { over: false };
  const text = `with v as (update peer_head set version = version + 1 returning version),
      c as (insert into peer_changes (version, name, body) select version, $1, $2 from v returning version)
    insert into peer_objects select $1, version, $2 from c on conflict (name) do update set version = excluded.version, body = excluded.body`;
  const lanes = Array.from({ length: inFlight }, async (_, index) => {
    for (let turn = 0; !until.over; turn++) {
      await pool.query({ name: 'peer', text, values: [`lane-${index}-${Math.floor(turn / 10)}`, JSON.stringify(task('x', turn))] });
      writes++;
    }
  });
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, measuredMs));
  const perSecond = (writes / (performance.now() - begun)) * 1000;
  until.over = true;
  await Promise.all(lanes);
  await pool.end();
  return perSecond;
}

/** Durable writes per second through NATS, admission and Postgres (fsync on), while 100 watches follow them. */
export async function run(): Promise<Figure[]> {
  const postgres = await startPostgres({ prepare: migrateStore, settings: { max_connections: '120' } });
  const nats = await startNats();
  const databaseUrl = await postgres.createDatabase();
  const env = { DATABASE_URL: databaseUrl, NATS_URL: nats.url };
  const intake = new Child('serve.bench.ts', [], env);
  let watcher: Child | undefined;
  try {
    await intake.line();
    watcher = new Child('watch.bench.ts', [String(watches)], env);
    await watcher.line();
    const bus = await nats.connect('bench');
    await load(bus, warmUpMs);
    const before = await intake.ask('cpu');
    const alone = await load(bus, measuredMs);
    const cpuUs = (Number(await intake.ask('cpu')) - Number(before)) / alone.writes;
    const { head } = await bus.request(messages.changes, {}, { since: 0, limit: 1 });
    const { good, behindMs } = JSON.parse(await watcher.ask(String(head))) as { good: number; behindMs: number };
    const peer = await onePerTransaction(await postgres.createDatabase());
    return [
      compared('durable object writes, 64 in flight, 100 watches', 'writes/s', alone.perSecond, 'one transaction per write, gapless, 64 sessions', peer, 'ours >= 6000', (own) => own >= 6000),
      bounded('p99 of a write, 64 in flight', 'ms', alone.p99Ms, '<=', 50),
      bounded('CPU of intake for one write', 'us', cpuUs, '<=', 160),
      compared('watches that saw every change once and in order', 'watches', good, 'watches open', watches, 'all', (own, open) => own === open),
      bounded('last watch behind the last write', 'ms', behindMs, '<=', 1_000),
    ];
  } finally {
    watcher?.stop();
    intake.stop();
    await nats.stop();
    await postgres.stop();
  }
}

if (import.meta.main) await printFigures(run());
