import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ensureStreams, messages } from '@roundsman/bus';
import { migrateReports, reportPool } from '@roundsman/reports';
import { migrateStore } from '@roundsman/store';
import { printFigures, roundResult, startNats, startPostgres, targetResult, type Figure } from '@roundsman/testkit';

const rowsPerSecond = 20_000;
const targets = 100;
const seconds = 8;
const runnersPerRound = 200;
const uid = '7b0f7a3e-0000-4000-8000-00000000beef';

/** From a runner's publish to visible in SQL at 20,000 rows a second: real NATS (every write synced), real Postgres, the reporter in its own process. */
export async function run(): Promise<Figure[]> {
  const [server, nats] = await Promise.all([
    startPostgres({
      prepare: async (url) => {
        await migrateStore(url);
        await migrateReports(url);
      },
    }),
    startNats(),
  ]);
  const databaseUrl = await server.createDatabase();
  const pool = reportPool(databaseUrl, { name: 'bench', connections: 1, onError: () => undefined });
  const child = spawn(process.execPath, [new URL('./reporter-process.ts', import.meta.url).pathname, JSON.stringify({ databaseUrl, natsUrl: nats.url })], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    await lines.next();
    const bus = await nats.connect('bench');
    await ensureStreams(bus);
    const roundStart = new Date().toISOString();
    const all = Array.from({ length: targets }, (_, i) => targetResult(`node-${i}`, { planned: 20 }));
    const published = new Map<string, number>();
    const latencies: number[] = [];
    const perMessageMs = (1000 * targets) / rowsPerSecond;
    const total = Math.round((seconds * 1000) / perMessageMs);
    let failed = 0;
    const send = (i: number): void => {
      const round = 1 + Math.floor(i / runnersPerRound);
      const runner = `runner-${i % runnersPerRound}`;
      published.set(`${round}/${runner}`, performance.now());
      bus.append(messages.result, { runner, kind: 'NetReach', taskUid: uid, round }, roundResult(runner, all, { taskUid: uid, round, roundStart }), { msgId: `${i}` }).catch(() => (failed += 1));
    };
    const began = performance.now();
    let next = 0;
    const visible = async (): Promise<void> => {
      const keys = [...published.keys()].slice(0, 4000).map((key) => key.split('/') as [string, string]);
      const { rows } = await pool.query<{ round: number; runner: string }>(
        'select p.round, p.runner from unnest($2::int[], $3::text[]) k (round, runner) join report.parts p on p.task_uid = $1 and p.round = k.round and p.runner = k.runner',
        [uid, keys.map(([round]) => Number(round)), keys.map(([, runner]) => runner)],
      );
      const now = performance.now();
      for (const { round, runner } of rows) {
        const key = `${round}/${runner}`;
        latencies.push(now - published.get(key)!);
        published.delete(key);
      }
    };
    const pump = setInterval(() => {
      const due = Math.min(total, Math.floor((performance.now() - began) / perMessageMs));
      while (next < due) send(next++);
    }, 5);
    const done = (): boolean => (next === total && published.size === 0) || performance.now() - began > 60_000;
    while (!done()) {
      await visible();
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    clearInterval(pump);
    const took = (performance.now() - began) / 1000;
    child.stdin.end();
    const usage = JSON.parse(String((await lines.next()).value)) as { cpuSeconds: number; rssMiB: number };
    await once(child, 'exit');
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from report.results');
    latencies.sort((a, b) => a - b);
    const at = (q: number): number => Math.round(latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? Number.NaN);
    const whole = failed === 0 && rows[0]!.n === total * targets;
    return [
      {
        name: `Publish to visible in SQL at ${rowsPerSecond} rows/s, p99`, unit: 'ms', ours: at(0.99), peer: 1000, peerName: 'bound', ratio: Math.round((at(0.99) / 1000) * 100) / 100, goal: '< 1000 ms', met: whole && at(0.99) < 1000,
        details: { p50: at(0.5), max: at(1), rows: rows[0]!.n, rowsPerSecond: Math.round(rows[0]!.n / took), messages: total, failed, reporterCpuSeconds: Math.round(usage.cpuSeconds * 10) / 10, reporterRssMiB: usage.rssMiB },
      },
    ];
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL');
    await pool.end();
    await nats.stop();
    await server.stop();
  }
}

if (import.meta.main) await printFigures(run());
