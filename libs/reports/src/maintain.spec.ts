import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { distributionOfUs, roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import type { Pool } from 'pg';
import { closeRound } from './close.ts';
import { Ingest } from './ingest.ts';
import { createAhead, retire, rollUp } from './maintain.ts';
import { migrateReports } from './migrate.ts';
import { dropPartition, ensurePartition, listPartitions, partitionOf, perDay, perMonth } from './partitions.ts';
import { reportPool } from './pool.ts';
import { openReports, type Reports } from './read.ts';
import { markTold } from './untold.ts';

const day = 86_400_000;
const hour = 3_600_000;
const uid = '7b0f7a3e-0000-4000-8000-000000000001';
const keepAll = { retentionMs: 1000 * day, maxBytes: 0, rollupRetentionMs: 4000 * day };
let server: TestPostgres;
let pool: Pool;
let reports: Reports;
let ingest: Ingest;

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
});
afterAll(() => server.stop());
beforeEach(async () => {
  const url = await server.createDatabase();
  pool = reportPool(url, { name: 'test', connections: 4, onError: () => undefined });
  reports = openReports(url);
  ingest = new Ingest(pool, { retentionMs: 1000 * day });
});
afterEach(async () => {
  await reports.close();
  await pool.end();
});

const iso = (ms: number): string => new Date(ms).toISOString();
const partitions = async (index = 0): Promise<string[]> => (await listPartitions(pool, perDay[index]!)).map(({ name }) => name);
async function closedRound(round: number, startMs: number, values: readonly number[] = [1000, 2000], told = true): Promise<void> {
  const target = targetResult('node-1', { planned: values.length, latency: distributionOfUs(values) });
  await ingest.store([roundResult('runner-1', [target], { round, roundStart: iso(startMs) })]);
  await closeRound(pool, { taskUid: uid, round, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'silent' }) });
  if (told) for (const what of ['status', 'report'] as const) await markTold(pool, uid, round, what);
}

describe('partitions', () => {
  it('are days and months in UTC', () => {
    const at = Date.parse('2026-12-31T23:59:59.999Z');
    expect(partitionOf(perDay[0]!, at)).toEqual({ name: 'results_p20261231', from: Date.parse('2026-12-31T00:00:00Z'), to: Date.parse('2027-01-01T00:00:00Z') });
    expect(partitionOf(perMonth, at)).toEqual({ name: 'rollups_p202612', from: Date.parse('2026-12-01T00:00:00Z'), to: Date.parse('2027-01-01T00:00:00Z') });
  });

  it('are made ahead, by several at once, and repeating it changes nothing', async () => {
    const now = Date.parse('2026-02-27T12:00:00Z');
    await Promise.all([createAhead(pool, 3, now), createAhead(pool, 3, now)]);
    await createAhead(pool, 3, now);
    expect(await partitions()).toEqual(['results_p20260227', 'results_p20260228', 'results_p20260301', 'results_p20260302']);
    expect(await partitions(1)).toHaveLength(4);
    expect((await listPartitions(pool, perMonth)).map(({ name }) => name)).toEqual(['rollups_p202602', 'rollups_p202603']);
  });

  it('can be dropped while somebody reads the others', async () => {
    const now = Date.now();
    await createAhead(pool, 1, now);
    const reader = await pool.connect();
    const client = await pool.connect();
    try {
      await reader.query('begin');
      await reader.query(`select count(*) from report.${partitionOf(perDay[0]!, now).name}`);
      await ensurePartition(client, perDay[0]!, now - 5 * day);
      await client.query(`set lock_timeout = '2s'`);
      await dropPartition(client, perDay[0]!, partitionOf(perDay[0]!, now - 5 * day).name);
      await reader.query('commit');
    } finally {
      reader.release();
      client.release();
    }
    expect(await partitions()).toHaveLength(2);
  });
});

describe('retention', () => {
  it('removes old days with their reports and tells watchers', async () => {
    const now = Date.now();
    for (const [round, age] of [[1, 40], [2, 31], [3, 5], [4, 0]] as const) await closedRound(round, now - age * day);
    const before = await reports.version();
    const retired = await retire(pool, { ...keepAll, retentionMs: 30 * day }, now);
    expect(retired.rounds).toBe(2);
    expect(retired.partitions.sort()).toEqual([40, 31].flatMap((age) => perDay.map((table) => partitionOf(table, now - age * day).name)).sort());
    expect((await reports.listRounds({})).items.map(({ status }) => status.round)).toEqual([3, 4]);
    expect((await pool.query('select distinct round from report.runner_rounds order by 1')).rows).toEqual([{ round: 3 }, { round: 4 }]);
    const { changes } = await reports.changes(before, 10);
    expect(changes.map((change) => change.type === 'removed' && [change.name, change.round])).toEqual([['netreach-mesh-7b0f7a3e-1', 1], ['netreach-mesh-7b0f7a3e-2', 2]]);
    expect(await reports.version()).toBe(before + 2);
    expect(await retire(pool, { ...keepAll, retentionMs: 30 * day }, now)).toMatchObject({ partitions: [], rounds: 0, bytes: 0 });
  });

  it('keeps the row of a round that nobody was told of yet', async () => {
    const now = Date.now();
    await closedRound(1, now - 40 * day, [1], false);
    expect((await retire(pool, { ...keepAll, retentionMs: 30 * day }, now)).rounds).toBe(0);
    expect((await reports.listRounds({})).items).toHaveLength(1);
  });

  it('drops the oldest days until the rest fits, never today', async () => {
    const now = Date.now();
    for (let age = 4; age >= 0; age--) await closedRound(5 - age, now - age * day);
    const bytes = (await Promise.all(perDay.map((table) => listPartitions(pool, table)))).flat().filter(({ to }) => to > now - day).reduce((sum, partition) => sum + partition.bytes, 0);
    const retired = await retire(pool, { ...keepAll, maxBytes: bytes }, now);
    expect(retired).toMatchObject({ rounds: 3, keptBytes: bytes });
    expect(retired.bytes).toBeGreaterThan(0);
    expect(retired.partitions.filter((name) => name.startsWith('results'))).toEqual([4, 3, 2].map((age) => partitionOf(perDay[0]!, now - age * day).name));
    // Of one task, too, only what is kept is history.
    expect((await reports.listRounds({ task: 'mesh' })).items.map(({ status }) => status.round)).toEqual([4, 5]);
    await retire(pool, { ...keepAll, maxBytes: 1 }, now);
    expect((await reports.listRounds({})).items.map(({ status }) => status.round)).toEqual([5]);
  });

  it('goes on where an interrupted removal stopped', async () => {
    const now = Date.now();
    await closedRound(1, now - 40 * day);
    const { name } = partitionOf(perDay[0]!, now - 40 * day);
    // Detached, but the process ended before the drop.
    await pool.query(`alter table report.results detach partition report.${name} concurrently`);
    expect((await retire(pool, { ...keepAll, retentionMs: 30 * day }, now)).partitions).toContain(name);
    expect(await partitions()).not.toContain(name);
  });

  it('removes roll-ups by months', async () => {
    const now = Date.now();
    await createAhead(pool, 0, now - 200 * day);
    await createAhead(pool, 0, now);
    await retire(pool, { ...keepAll, rollupRetentionMs: 100 * day }, now);
    expect((await listPartitions(pool, perMonth)).map(({ name }) => name)).toEqual([partitionOf(perMonth, now).name]);
  });
});

describe('hourly roll-ups', () => {
  const rolled = async () => (await pool.query(`select h.hour, h.rounds, h.ok_rounds, h.planned::int, h.latency_count::int as n, h.latency_min_us as min, h.latency_max_us as max, h.latency_sum_us as sum,
    (select sum(c)::int from unnest(h.latency_c) c) as counted, round(g.p50_ms * 1000) as p50 from report.rollups h join grafana.hourly g on g.time = h.hour order by 1`)).rows;

  it('equal what the rows say, and are the same when done again', async () => {
    const now = Math.floor(Date.now() / hour) * hour + hour / 2;
    const start = now - 2 * hour;
    await closedRound(1, start, [1000, 2000, 3000]);
    await closedRound(2, start + 60_000, [5000]);
    await closedRound(3, now - 10_000, [9000]);
    expect(await rollUp(pool, now)).toBe(1);
    const hourStart = new Date(Math.floor(start / hour) * hour);
    const [row] = await rolled();
    expect(row).toMatchObject({ hour: hourStart, rounds: 2, ok_rounds: 2, planned: 4, n: 4, min: 1000, max: 5000, sum: 11_000, counted: 4 });
    expect(Math.abs(row.p50 - 2000) / 2000).toBeLessThan(0.0101);
    expect(await rolled()).toHaveLength(1);
    // The current hour comes when it is over; so does the watermark.
    expect((await pool.query('select upto from report.rollup_state')).rows).toEqual([{ upto: new Date(Math.floor(now / hour) * hour) }]);
    await pool.query('insert into report.dirty_hours values ($1)', [hourStart]);
    expect(await rollUp(pool, now)).toBe(1);
    expect((await rolled())[0]).toEqual(row);
    expect(await rollUp(pool, now + hour)).toBe(1);
    expect(await rolled()).toHaveLength(2);
  });

  it('take in a round that was closed late', async () => {
    const now = Date.now();
    // The beginning of an hour: both rounds are of that one.
    const start = Math.floor(now / hour) * hour - 3 * hour;
    await closedRound(1, start);
    await rollUp(pool, now);
    await closedRound(2, start + 1000);
    expect(await rollUp(pool, now)).toBe(1);
    expect((await rolled())[0]).toMatchObject({ rounds: 2, planned: 4 });
  });

  it('stay as they are once retention has removed what they were made of, whatever comes late', async () => {
    const now = Date.now();
    const start = now - 31 * day;
    await closedRound(1, start);
    expect(await rollUp(pool, now)).toBe(1);
    const before = await rolled();
    expect(before).toHaveLength(1);
    await retire(pool, { ...keepAll, retentionMs: 30 * day }, now);
    // Also when somebody keeps longer than was kept until now.
    expect((await ingest.store([roundResult('runner-9', [targetResult('node-1')], { round: 7, roundStart: iso(start) })])).outcomes).toEqual(['expired']);
    expect(await partitions()).toEqual([]);
    await pool.query(`insert into report.dirty_hours values (date_trunc('hour', $1::timestamptz, 'UTC'))`, [iso(start)]);
    expect(await rollUp(pool, now)).toBe(0);
    expect(await rolled()).toEqual(before);
    expect((await pool.query('select from report.dirty_hours')).rowCount).toBe(0);
  });
});
