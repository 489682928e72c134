import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { distributionOfUs, roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import { Client, type Pool } from 'pg';
import { closeRound } from './close.ts';
import { Ingest } from './ingest.ts';
import { rollUp } from './maintain.ts';
import { migrateReports } from './migrate.ts';
import { reportPool } from './pool.ts';

let server: TestPostgres;
let pool: Pool;
let grafana: Client;
const minute = 60_000;
const now = Date.now();
const uid = '7b0f7a3e-0000-4000-8000-000000000001';
const nodes = ['node-1', 'node-2'];

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
  const url = await server.createDatabase();
  pool = reportPool(url, { name: 'test', connections: 2, onError: () => undefined });
  const ingest = new Ingest(pool, { retentionMs: 30 * 86_400_000 });
  // Six rounds, ten minutes apart; node-2 gets slower, and fails in the last one.
  for (let round = 1; round <= 6; round++) {
    const roundStart = new Date(now - (120 - 10 * round) * minute).toISOString();
    const far = round < 6
      ? targetResult('node-2', { latency: distributionOfUs(Array.from({ length: 10 }, () => round * 1000)) })
      : targetResult('node-2', { failed: 10, ok: false, reason: 'success rate 0', errors: { refused: 10 }, statusCodes: {}, latency: distributionOfUs([]), failures: [{ at: roundStart, code: 'refused', message: 'connection refused', latencyUs: 300 }] });
    await ingest.store(nodes.map((node) => roundResult(node.replace('node', 'runner'), [targetResult('node-1'), far], { round, roundStart })));
    await closeRound(pool, { taskUid: uid, round, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'silent' }) });
  }
  await rollUp(pool, now + 3_600_000);
  const at = new URL(url);
  at.username = 'grafana_ro';
  grafana = new Client({ connectionString: at.href });
  await grafana.connect();
});
afterAll(async () => {
  await grafana?.end();
  await pool?.end();
  await server?.stop();
});

/** As Grafana's Postgres data source expands its macros. */
function expand(sql: string, from = now - 180 * minute, to = now): string {
  return sql
    .replaceAll(/\$__timeFilter\(([^)]*)\)/g, (_, column: string) => `${column} BETWEEN '${new Date(from).toISOString()}' AND '${new Date(to).toISOString()}'`)
    .replaceAll(/\$__timeGroupAlias\(([^,)]*),\s*'?(\d+)m'?\)/g, (_, column: string, m: string) => `floor(extract(epoch from ${column})/${Number(m) * 60})*${Number(m) * 60} AS "time"`);
}
const panel = async (sql: string): Promise<Record<string, unknown>[]> => (await grafana.query(expand(sql))).rows as Record<string, unknown>[];

describe('the role grafana_ro', () => {
  it.each([
    ['create table grafana.mine (a int)'], ['create table public.mine (a int)'], ['create schema mine'], ['drop view grafana.rounds'], ['alter view grafana.rounds rename to other'],
    [`insert into grafana.rounds (task) values ('x')`], [`delete from grafana.hourly`], [`update report.rounds set task = 'x'`], ['truncate report.results'],
    ['select * from report.rounds'], ['select * from report.results'], ['select * from report.results_p20260101'], [`select nextval('report.report_version')`], ['create role other'], [`copy grafana.rounds to '/tmp/x'`],
    [`select pg_read_file('/etc/passwd')`],
  ])('may not: %s', async (sql) => {
    await expect(grafana.query(sql)).rejects.toThrow();
    // Nor when it takes off the read-only setting, which anybody may do for himself.
    await grafana.query('begin read write');
    await expect(grafana.query(sql)).rejects.toThrow(/permission denied|must be owner|does not exist|cannot insert into view|cannot delete from view|must be superuser|privilege/);
    await grafana.query('rollback');
  });

  it('is read-only and limited in time by default, and finds the views without their schema', async () => {
    expect((await grafana.query(`select current_setting('default_transaction_read_only') as ro, current_setting('statement_timeout') as timeout`)).rows).toEqual([{ ro: 'on', timeout: '15s' }]);
    expect((await grafana.query('select count(*)::int as n from rounds')).rows).toEqual([{ n: 6 }]);
  });
});

describe('the views', () => {
  it('keep their columns: they are the contract', async () => {
    const { rows } = await pool.query<{ view: string; columns: string }>(
      `select table_name as view, string_agg(column_name, ' ' order by ordinal_position) as columns from information_schema.columns where table_schema = 'grafana' group by 1 order by 1`,
    );
    expect(Object.fromEntries(rows.map(({ view, columns }) => [view, columns]))).toMatchSnapshot();
  });

  it('draw latency percentiles over time, one series per percentile', async () => {
    const rows = await panel(`select time, metric, value_ms from grafana.latency_percentiles where $__timeFilter(time) and namespace = 'default' and task = 'mesh' order by time, metric`);
    expect(rows).toHaveLength(30);
    expect(rows[0]).toEqual({ time: expect.any(Date), metric: 'max', value_ms: 1.9 });
    expect(rows.slice(0, 5).map(({ metric }) => metric)).toEqual(['max', 'p50', 'p90', 'p95', 'p99']);
  });

  it('merge histograms exactly, whatever they are grouped by', async () => {
    const rows = await panel(
      `select $__timeGroupAlias(t, 60m), grafana.lb_quantile(0.5, array_agg(bucket order by bucket), array_agg(n order by bucket)) / 1000 as p50_ms, sum(n)::int as n
       from (select to_timestamp(floor(extract(epoch from time) / 3600) * 3600) as t, bucket, sum(count)::bigint as n from grafana.latency_buckets where $__timeFilter(time) and target = 'endpoint/v4/node-2' group by 1, 2) x group by t order by 1`,
    );
    expect(rows.reduce((sum, { n }) => sum + Number(n), 0)).toBe(100);
    for (const { p50_ms } of rows) expect(Math.round(Number(p50_ms) * 100) % 100 < 3 || Math.round(Number(p50_ms) * 100) % 100 > 95).toBe(true);
  });

  it('show the last report of each task, rounds and their findings', async () => {
    expect(await panel('select task, round, state, verdict, healthy, success_rate, runners_ok, runners_failed from grafana.reports')).toEqual([
      { task: 'mesh', round: 6, state: 'fail', verdict: 'broken', healthy: false, success_rate: 0.5, runners_ok: 0, runners_failed: 2 },
    ]);
    const findings = await panel('select round, code, severity, subject, message from grafana.findings where $__timeFilter(time) order by time');
    expect(findings).toEqual([expect.objectContaining({ round: 6, severity: 'critical', message: expect.any(String) })]);
    expect(await panel(`select time, p99_ms, success_rate from grafana.rounds where $__timeFilter(time) order by time`)).toHaveLength(6);
  });

  it('show targets, the matrix, runners and raw failures', async () => {
    const targets = await panel(`select runner, target, success_rate, p50_ms, p99_ms, first_byte_ms, ok, reason from grafana.targets where $__timeFilter(time) and round = 6 order by runner, target`);
    expect(targets).toHaveLength(4);
    expect(targets[0]).toMatchObject({ runner: 'runner-1', target: 'endpoint/v4/node-1', success_rate: 1, ok: true, first_byte_ms: 0.9 });
    expect(Math.abs(Number(targets[0]!['p50_ms']) - 1.4)).toBeLessThan(0.015);
    expect(targets[1]).toMatchObject({ target: 'endpoint/v4/node-2', success_rate: 0, ok: false, p50_ms: null, reason: 'success rate 0' });
    const cells = await panel('select from_node, to_node, success_rate, p50_ms, p99_ms from grafana.matrix where $__timeFilter(time) and round = 5 order by 1, 2');
    expect(cells.map(({ from_node, to_node }) => [from_node, to_node])).toEqual([['node-1', 'node-1'], ['node-1', 'node-2'], ['node-2', 'node-1'], ['node-2', 'node-2']]);
    expect(cells[1]).toMatchObject({ success_rate: 1, p99_ms: 5 });
    expect(await panel('select round, runner, state, p99_ms, suspect from grafana.runners where $__timeFilter(time) and round = 6 order by runner')).toMatchObject([{ runner: 'runner-1', state: 'failed', suspect: false }, { runner: 'runner-2' }]);
    expect(await panel('select code, message, latency_ms from grafana.failures where $__timeFilter(time)')).toEqual([
      { code: 'refused', message: 'connection refused', latency_ms: 0.3 },
      { code: 'refused', message: 'connection refused', latency_ms: 0.3 },
    ]);
    expect((await panel('select sum(rounds)::int as rounds, sum(planned)::int as planned from grafana.hourly where $__timeFilter(time)'))[0]).toEqual({ rounds: 24, planned: 240 });
  });

  it('read only the partitions and rows they need', async () => {
    await pool.query('analyze report.results; analyze report.rounds');
    const plan = (await pool.query(`explain select * from grafana.targets where time between now() - interval '1 hour' and now()`)).rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Subplans Removed|results_p\d+/);
    const one = await pool.connect();
    await one.query('set enable_seqscan = off');
    const byRound = (await one.query(`explain select * from report.results where round_start = '${new Date(now).toISOString()}' and task_uid = 'x' and round = 1`)).rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
    one.release();
    expect(byRound).toMatch(/Index Scan|One-Time Filter: false/);
  });
});

describe('the queries in deploy/grafana', () => {
  const file = readFileSync(new URL('../../../deploy/grafana/queries.sql', import.meta.url), 'utf8');
  const queries = file.split(';\n').map((text) => text.trim()).filter((text) => /\bselect\b/.test(text));

  it.each(queries.map((sql) => [/^-- (.*)/m.exec(sql.slice(sql.lastIndexOf('\n\n') + 1))![1]!, sql]))('%s', async (title, sql) => {
    const rows = await panel(sql);
    if (title.startsWith('Runners that were missing')) expect(rows).toEqual([]);
    else expect(rows.length).toBeGreaterThan(0);
  });
});

describe('lb_quantile', () => {
  it('is the nearest rank, as in the program', async () => {
    const of = async (q: number, b: number[], c: number[]): Promise<number | null> => (await pool.query<{ v: number | null }>('select grafana.lb_quantile($1, $2, $3) as v', [q, b, c])).rows[0]!.v;
    expect(await of(0.5, [], [])).toBeNull();
    const value = (bucket: number): number => (2 * 1.02020202 ** bucket) / 2.02020202;
    for (const [q, bucket] of [[0, 10], [0.5, 10], [0.51, 20], [0.75, 20], [0.76, 30], [1, 30], [2, 30], [-1, 10]] as const) expect(await of(q, [10, 20, 30], [2, 1, 1])).toBeCloseTo(value(bucket), 6);
  });
});
