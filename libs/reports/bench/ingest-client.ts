// One measured ingest in its own process: argv[2] is {url, messages, targets, batch}. Prints one JSON line.
import { Ingest, reportPool, resultProblem } from '@roundsman/reports';
import type { RoundResult } from '@roundsman/api';
import { makeMessages } from './messages.ts';

const job = JSON.parse(process.argv[2]!) as { url: string; messages: number; targets: number; batch: number };
const pool = reportPool(job.url, { name: 'bench', connections: 3, onError: () => undefined });
// As the reporter does it: while one batch waits for its commit, the next is encoded.
const lanes = Array.from({ length: 3 }, () => new Ingest(pool, { retentionMs: 30 * 86_400_000 }));
const encoded = makeMessages(job.messages, job.targets);

async function store(ingest: Ingest, from: number, to: number): Promise<number> {
  const parts: RoundResult[] = [];
  for (let i = from; i < to; i++) {
    const value: unknown = JSON.parse(encoded[i]!);
    const problem = resultProblem(value);
    if (problem !== undefined) throw new Error(problem);
    parts.push(value as RoundResult);
  }
  return (await ingest.store(parts)).rows;
}

async function storeAll(from: number, to: number): Promise<number> {
  let next = from;
  const worker = async (ingest: Ingest): Promise<number> => {
    let rows = 0;
    for (let at = next; at < to; at = next) {
      next += job.batch;
      rows += await store(ingest, at, Math.min(to, at + job.batch));
    }
    return rows;
  };
  return (await Promise.all(lanes.map(worker))).reduce((sum, rows) => sum + rows, 0);
}

// A tenth to warm up, the rest counts.
const warm = Math.ceil(job.messages / 10 / job.batch) * job.batch;
await storeAll(0, warm);
const cpu = process.cpuUsage();
const began = performance.now();
const rows = await storeAll(warm, job.messages);
const seconds = (performance.now() - began) / 1000;
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ rows, seconds, perSecond: rows / seconds, clientCpu: (used.user + used.system) / 1e6 / seconds }));
await pool.end();
