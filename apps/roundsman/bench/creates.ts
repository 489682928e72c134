import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { migrateReports } from '@roundsman/reports';
import { migrateStore } from '@roundsman/store';
import { bounded, printFigures, startNats, startPostgres, type Figure } from '@roundsman/testkit';
import { cpuTicks } from './processes.ts';

const inFlight = 16;
const watches = 10;

interface Told {
  readonly perSecond: number;
  readonly created: number;
  readonly refused: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Watches that saw every pod. */
  readonly whole: number;
  readonly eventP50Ms: number;
  readonly eventP99Ms: number;
}

/** Pods that nobody schedules, created over HTTP while watches follow: the whole control plane in one process, Postgres with fsync, NATS. */
export async function run(): Promise<Figure[]> {
  const prepare = async (url: string): Promise<void> => {
    await migrateStore(url);
    await migrateReports(url);
  };
  const [postgres, nats] = await Promise.all([startPostgres({ prepare }), startNats()]);
  const env = { ...process.env, DATABASE_URL: await postgres.createDatabase(), NATS_URL: nats.url };
  const flags = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '');
  const plane = spawn(process.execPath, [...flags, join(import.meta.dirname, 'control-plane.ts')], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const lines = createInterface({ input: plane.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<string> => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the control plane ended');
      return value as string;
    };
    const cpuUs = async (): Promise<number> => {
      plane.stdin.write('cpu\n');
      return Number(await next());
    };
    const url = await next();
    const client = async (...args: (string | number)[]): Promise<Told> => {
      const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'creates-client.ts'), url, ...args.map(String)]);
      return JSON.parse(stdout) as Told;
    };
    await client(4, watches, 'flood', inFlight);
    const [before, allBefore] = [await cpuUs(), cpuTicks(process.pid)];
    const flood = await client(8, watches, 'flood', inFlight);
    const cpuEach = ((await cpuUs()) - before) / flood.created;
    // A tick is 10 ms. The client counts, too: it runs on the same two cores.
    const allEach = ((cpuTicks(process.pid) - allBefore) * 10_000) / flood.created;
    const paced = await client(8, watches, 'pace', 500);
    if (flood.refused + paced.refused > 0) throw new Error(`${flood.refused + paced.refused} creates were refused`);
    return [
      bounded(`pods created through the gateway, ${inFlight} in flight, ${watches} watches`, 'creates/s', flood.perSecond, '>=', 1500),
      bounded('p99 of a create', 'ms', flood.p99Ms, '<=', 30),
      bounded('CPU of the control plane for one create', 'us', cpuEach, '<=', 650),
      bounded('CPU of all processes for one create, of which two cores have 1333 at 1,500 a second', 'us', allEach, '<=', 1333),
      bounded('watches that saw every pod', 'watches', Math.min(flood.whole, paced.whole), '>=', watches),
      bounded('p99 until a watch has told it, from the intended time of the create, at 500 creates/s', 'ms', paced.eventP99Ms, '<=', 50),
    ];
  } finally {
    const ended = new Promise((resolve) => plane.once('exit', resolve));
    plane.stdin.end();
    await ended;
    await Promise.all([nats.stop(), postgres.stop()]);
  }
}

if (import.meta.main) await printFigures(run());
