import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { migrateReports } from '@roundsman/reports';
import { compared, printFigures, startPostgres, type Figure } from '@roundsman/testkit';

const messages = 4_000;
const targets = 50;
const batch = 100;

/** Result rows into Postgres through `Ingest`, JSON text to commit, the client on core 0, Postgres on core 1; the peer is psql \copy of the same rows. */
export async function run(): Promise<Figure[]> {
  const server = await startPostgres({ prepare: migrateReports, settings: { shared_buffers: '256MB', max_wal_size: '4GB' } });
  try {
    const postmaster = Number(execFileSync('psql', [server.url, '-Atc', `select pg_read_file('postmaster.pid')`], { encoding: 'utf8' }).split('\n')[0]);
    execFileSync('taskset', ['-a', '-cp', '1', String(postmaster)]);
    const best: { ours: number; peer: number; clientCpu: number; postgresCpu: number }[] = [];
    for (let i = 0; i < 3; i++) {
      const url = await server.createDatabase();
      const before = cpuSeconds(postmaster);
      const ours = JSON.parse(
        execFileSync('taskset', ['-c', '0', process.execPath, new URL('./ingest-client.ts', import.meta.url).pathname, JSON.stringify({ url, messages, targets, batch })], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
      ) as { rows: number; perSecond: number; seconds: number; clientCpu: number };
      const postgresCpu = (cpuSeconds(postmaster) - before) / ours.seconds;
      best.push({ ours: ours.perSecond, peer: copyRate(url), clientCpu: ours.clientCpu, postgresCpu });
    }
    best.sort((a, b) => a.ours - b.ours);
    const median = best[1]!;
    const details = { clientCores: round(median.clientCpu), postgresCores: round(median.postgresCpu), messagesPerTransaction: batch, targetsPerMessage: targets };
    return [
      { ...compared('Result rows into Postgres, client on one core', 'rows/s', median.ours, 'psql \\copy of the same rows', median.peer, '>= 50000 rows/s', (own) => own >= 50_000), details },
    ];
  } finally {
    await server.stop();
  }
}

/** The rows that are there, copied by psql from a file into an empty table of the same form with the same key. */
function copyRate(url: string): number {
  const psql = (sql: string): string => execFileSync('taskset', ['-c', '0', 'psql', url, '-qAt', '-c', sql], { encoding: 'utf8', maxBuffer: 1 << 20 });
  const file = `/tmp/roundsman-bench-${process.pid}.copy`;
  psql(`\\copy (select * from report.results) to '${file}'`);
  psql('create table report.peer (like report.results including all) partition by range (round_start); create table report.peer_all partition of report.peer default');
  const began = performance.now();
  psql(`\\copy report.peer from '${file}'`);
  const seconds = (performance.now() - began) / 1000;
  execFileSync('rm', ['-f', file]);
  return Number(psql('select count(*) from report.peer')) / seconds;
}

/** CPU seconds of Postgres and its processes, the living ones and those that have ended. */
function cpuSeconds(postmaster: number): number {
  let ticks = 0;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const fields = readFileSync(`/proc/${entry}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
      const mine = Number(entry) === postmaster;
      if (mine || Number(fields[1]) === postmaster) ticks += Number(fields[11]) + Number(fields[12]) + (mine ? Number(fields[13]) + Number(fields[14]) : 0);
    } catch {
      // It has just ended: its parent counts it.
    }
  }
  return ticks / 100;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

if (import.meta.main) await printFigures(run());
