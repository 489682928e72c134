import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import type { RoundResult } from '@roundsman/api';
import { eventually, roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import type { Pool } from 'pg';
import { closeRound } from './close.ts';
import { Ingest } from './ingest.ts';
import { migrateReports } from './migrate.ts';
import { reportPool } from './pool.ts';
import { committedRounds } from './rounds.ts';

const days = 86_400_000;
let server: TestPostgres;
let pool: Pool;
let ingest: Ingest;
let now: string;

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
});
afterAll(() => server.stop());
beforeEach(async () => {
  pool = reportPool(await server.createDatabase(), { name: 'test', connections: 4, onError: () => undefined });
  ingest = new Ingest(pool, { retentionMs: 30 * days });
  now = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
});
afterEach(() => pool.end());

const result = (runner: string, nodes: readonly string[], change: Partial<RoundResult> = {}): RoundResult =>
  roundResult(runner, nodes.map((node) => targetResult(node)), { roundStart: now, ...change });
/** A result in several parts of one target each; the last has the outcome. */
function inParts(runner: string, nodes: readonly string[], change: Partial<RoundResult> = {}): RoundResult[] {
  const { outcome, ...whole } = result(runner, nodes, change);
  return nodes.map((node, i) => ({ ...whole, targets: [targetResult(node)], part: i + 1, parts: nodes.length, ...(i === nodes.length - 1 ? { outcome: outcome! } : {}) }));
}
async function sql<T = Record<string, unknown>>(text: string): Promise<T[]> {
  return (await pool.query(text)).rows as T[];
}
const counts = () =>
  sql(`select (select count(*)::int from report.results) as results, (select count(*)::int from report.parts) as parts, (select count(*)::int from report.failures) as failures,
    (select count(*)::int from report.runner_rounds where state is not null) as whole, (select sum(planned)::int from report.results) as planned`);

describe('ingest', () => {
  it('keeps every number of a result', async () => {
    const target = targetResult('node-2', {
      planned: 12, unsent: 2, failed: 3, ok: false, reason: 'success rate 0.5', bytes: 5_000_000_000, errors: { timeout: 2, refused: 1 }, statusCodes: { '200': 7, '500': 1 }, replyCodes: { NOERROR: 4 },
      phases: { dns: { count: 2, sumUs: 300, maxUs: 200 }, transfer: { count: 7, sumUs: 70, maxUs: 20 } },
      failures: [{ at: '2026-11-21T10:00:01.250Z', code: 'timeout', message: 'nul \0, umlaut ü, half \ud800, 日本', latencyUs: 500_000.5 }],
    });
    await ingest.store([{ ...result('runner-1', []), targets: [target], outcome: undefined as never }]);
    const [row] = await sql(`select *, round_start = '${now}' as at_start from report.results`);
    expect(row).toMatchObject({
      at_start: true, runner: 'runner-1', target: 'endpoint/v4/node-2', layer: 'endpoint', address: target.address, method: 'GET', target_node: 'node-2', family: 'v4',
      planned: 12, sent: 10, unsent: 2, succeeded: 7, failed: 3, bytes: 5_000_000_000, ok: false, reason: 'success rate 0.5',
      latency_count: 7, latency_sum_us: target.latency.sumUs, latency_min_us: target.latency.minUs, latency_max_us: target.latency.maxUs, latency_b: target.latency.histogram.b, latency_c: target.latency.histogram.c,
      lag_count: 12, lag_max_us: 31, errors: { timeout: 2, refused: 1 }, status_codes: { '200': 7, '500': 1 }, reply_codes: { NOERROR: 4 },
      phases: [2, 300, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 70, 20],
    });
    expect((row as { started_at: Date }).started_at.toISOString()).toBe(target.startedAt);
    const [failure] = await sql<{ at: Date; code: string; message: string; latency_us: number }>('select * from report.failures');
    expect(failure).toMatchObject({ code: 'timeout', message: 'nul \uFFFD, umlaut ü, half \uFFFD, 日本', latency_us: 500_000.5 });
    expect(failure!.at.toISOString()).toBe('2026-11-21T10:00:01.250Z');
  });

  it('changes nothing when all comes twice, whole batches or single messages', async () => {
    const messages = [...inParts('runner-1', ['node-1', 'node-2', 'node-3']), result('runner-2', ['node-1'])];
    const first = await ingest.store([...messages, ...messages]);
    expect(first.outcomes).toEqual([...messages.map(() => 'stored'), ...messages.map(() => 'duplicate')]);
    expect(first).toMatchObject({ rows: 4, completed: expect.arrayContaining([expect.objectContaining({ runner: 'runner-1' }), expect.objectContaining({ runner: 'runner-2' })]) });
    const before = await counts();
    expect(await ingest.store(messages)).toMatchObject({ rows: 0, completed: [], outcomes: messages.map(() => 'duplicate') });
    for (const message of messages.toReversed()) await ingest.store([message]);
    expect(await counts()).toEqual(before);
    expect(before).toEqual([{ results: 4, parts: 4, failures: 0, whole: 2, planned: 40 }]);
  });

  it('counts a runner as done only when its outcome and all parts are in, in any order', async () => {
    const parts = inParts('runner-1', ['node-1', 'node-2', 'node-3', 'node-4']);
    for (const part of [parts[3]!, parts[1]!, parts[0]!]) expect((await ingest.store([part])).completed).toEqual([]);
    const round = { taskUid: parts[0]!.taskUid, round: 1 };
    expect(await committedRounds(pool, 'runner-1', [round], 30 * days)).toEqual([]);
    expect((await ingest.store([parts[2]!])).completed).toEqual([{ ...round, runner: 'runner-1' }]);
    expect(await committedRounds(pool, 'runner-1', [round, { ...round, round: 2 }], 30 * days)).toEqual([round]);
    expect(await committedRounds(pool, 'runner-2', [round], 30 * days)).toEqual([]);
  });

  it('lets two writers store the same messages at once', async () => {
    const messages = Array.from({ length: 10 }, (_, i) => inParts(`runner-${i}`, ['node-1', 'node-2'])).flat();
    const other = new Ingest(pool, { retentionMs: 30 * days });
    const both = await Promise.all([ingest.store(messages), other.store(messages.toReversed())]);
    const stored = both.flatMap(({ outcomes }) => outcomes).filter((outcome) => outcome === 'stored');
    expect(stored).toHaveLength(20);
    expect(await counts()).toEqual([{ results: 20, parts: 20, failures: 0, whole: 10, planned: 200 }]);
  });

  it('keeps what came first when a runner has lost its spool and measured again', async () => {
    const failing = targetResult('node-2', { failed: 1, ok: false, errors: { reset: 1 }, failures: [{ at: now, code: 'reset', message: 'first', latencyUs: 1 }] });
    const [one, two] = inParts('runner-1', ['node-1', 'node-2']);
    await ingest.store([{ ...one!, targets: [failing] }]);
    const again = { ...failing, failures: [{ at: now, code: 'reset' as const, message: 'second', latencyUs: 1 }] };
    const result = await ingest.store([{ ...two!, targets: [again, targetResult('node-1', { planned: 20 })] }]);
    expect(result).toMatchObject({ rows: 1, outcomes: ['stored'] });
    expect(await sql('select message from report.failures')).toEqual([{ message: 'first' }]);
    expect(await sql('select target, planned from report.results order by 1')).toEqual([{ target: 'endpoint/v4/node-1', planned: 20 }, { target: 'endpoint/v4/node-2', planned: 10 }]);
    expect((await ingest.store([result.outcomes.length > 0 ? two! : one!])).outcomes).toEqual(['duplicate']);
  });

  it('drops and counts what comes after the close', async () => {
    const early = result('runner-1', ['node-1']);
    await ingest.store([early]);
    await closeRound(pool, { taskUid: early.taskUid, round: 1, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'silent' }) });
    const late = result('runner-2', ['node-1', 'node-2']);
    expect(await ingest.store([late, early])).toMatchObject({ rows: 0, outcomes: ['late', 'duplicate'], completed: [] });
    await ingest.countLate([late]);
    expect(await sql('select late_results from report.rounds')).toEqual([{ late_results: 1 }]);
    // The runner need not send it again.
    expect(await committedRounds(pool, 'runner-2', [{ taskUid: early.taskUid, round: 1 }], 30 * days)).toHaveLength(1);
  });

  it('makes the partition of any day, and again when it was dropped meanwhile', async () => {
    const old = new Date(Date.now() - 20 * days).toISOString();
    await ingest.store([result('runner-1', ['node-1'], { roundStart: old })]);
    const [{ name }] = (await sql<{ name: string }>(`select tableoid::regclass::text as name from report.results`)) as [{ name: string }];
    expect(name).toBe(`report.results_p${old.slice(0, 10).replaceAll('-', '')}`);
    await sql(`alter table report.results detach partition ${name}`);
    await sql(`drop table ${name}`);
    expect((await ingest.store([result('runner-2', ['node-1'], { roundStart: old })])).rows).toBe(1);
  });

  it('keeps the rows of a round together when runners disagree about its start', async () => {
    const yesterday = new Date(Date.parse(now) - days).toISOString();
    await ingest.store([result('runner-1', ['node-1'], { roundStart: yesterday })]);
    await new Ingest(pool, { retentionMs: 30 * days }).store([result('runner-2', ['node-1'])]);
    expect(await sql('select count(distinct round_start)::int as n from report.results')).toEqual([{ n: 1 }]);
  });

  it('keeps nothing of results too old, but that they came if their round is known; their runner may let go of them', async () => {
    const ancient = result('runner-1', ['node-1'], { roundStart: new Date(Date.now() - 40 * days).toISOString() });
    const rounds = [{ taskUid: ancient.taskUid, round: 1, endedAt: ancient.roundStart }, { taskUid: ancient.taskUid, round: 2, endedAt: now }];
    expect(await ingest.store([ancient])).toMatchObject({ rows: 0, outcomes: ['expired'], completed: [] });
    expect(await sql('select * from report.rounds')).toEqual([]);
    expect(await sql(`select from pg_class where relkind = 'r' and relname like 'results_p%'`)).toEqual([]);
    expect(await committedRounds(pool, 'runner-1', rounds, 30 * days)).toEqual([{ taskUid: ancient.taskUid, round: 1 }]);
    expect(await committedRounds(pool, 'runner-1', rounds, 50 * days)).toEqual([]);

    // A round that has been running all the time.
    await new Ingest(pool, { retentionMs: 50 * days }).store([{ ...ancient, runner: 'runner-2' }]);
    expect(await ingest.store([ancient, result('runner-3', ['node-1'], { round: 2 })])).toMatchObject({ rows: 1, outcomes: ['expired', 'stored'], completed: [{ runner: 'runner-1' }, { runner: 'runner-3' }] });
    expect(await committedRounds(pool, 'runner-1', rounds, 30 * days)).toHaveLength(1);
  });

  it('has changed nothing when Postgres is killed in the middle, and goes on after it is back', async () => {
    const mine = await startPostgres({ prepare: migrateReports });
    const own = reportPool(await mine.createDatabase(), { name: 'test', connections: 2, onError: () => undefined });
    try {
      const writer = new Ingest(own, { retentionMs: 30 * days });
      const batches = Array.from({ length: 40 }, (_, b) => Array.from({ length: 5 }, (_, i) => result(`runner-${i}`, Array.from({ length: 40 }, (_, n) => `node-${n}`), { round: b + 1 })));
      let failed = 0;
      let committed = 0;
      const kill = eventually(() => committed > 5 && committed).then(() => mine.kill());
      for (let b = 0; b < batches.length; ) {
        try {
          await writer.store(batches[b]!);
          committed += 1;
          b += 1;
        } catch {
          failed += 1;
          await kill;
          await mine.restart();
        }
      }
      expect(failed).toBeGreaterThan(0);
      const { rows } = await own.query('select count(*)::int as rows, sum(planned)::int as planned, count(distinct (round, runner, target))::int as distinct from report.results');
      expect(rows).toEqual([{ rows: 8000, planned: 80_000, distinct: 8000 }]);
      const whole = await own.query('select count(*)::int as n from report.runner_rounds where state = $1', ['ok']);
      expect(whole.rows).toEqual([{ n: 200 }]);
    } finally {
      await own.end();
      await mine.stop();
    }
  });
});
