import type { CutCause, TaskKind, Verdict } from '@roundsman/api';
import { verdictOf } from '@roundsman/measure';
import type pg from 'pg';
import { compareWithPrevious } from './compare.ts';
import { loadRunners, runnerTotals, sumRunners, type RunnerRow } from './runners.ts';
import { successRate } from './success-rate.ts';
import { recordEnds, type RunnerEnds } from './ends.ts';
import { loadOutcomes } from './outcomes.ts';
import { perDay } from './partitions.ts';
import { rollBack } from './pool.ts';

/** An expected runner of an open round that has no outcome, and what is known about it. */
export interface SilentRunner {
  readonly runner: string;
  readonly node: string;
  /** Why it was not ready when the round was made. */
  readonly notReady: string | undefined;
  /** Parts of its result that are in, of how many; 0 of 0 when none is. */
  readonly received: number;
  readonly parts: number;
}
export interface SilentOutcome {
  readonly state: 'missing' | 'canceled';
  readonly reason: string;
  /** `ended`: it is known to have gone within the round. */
  readonly cut?: CutCause;
}

export interface CloseRequest {
  readonly taskUid: string;
  readonly round: number;
  /** `complete`: only if every expected runner that was given the round has an outcome; the others whatever is there. */
  readonly cause: 'complete' | 'deadline' | 'canceled' | 'missed';
  readonly silent: (runner: SilentRunner) => SilentOutcome;
  /** Runners that are known to have ended within the round. */
  readonly ends?: RunnerEnds;
}

export interface ClosedRound {
  readonly taskUid: string;
  readonly round: number;
  readonly kind: TaskKind;
  readonly namespace: string;
  readonly task: string;
  readonly state: 'succeed' | 'fail' | 'canceled' | 'missed';
  readonly verdict: Verdict;
  readonly version: number;
  /** Runners that reported though the round was not theirs; what they said is dropped. */
  readonly foreign: string[];
}

interface RoundHead {
  kind: TaskKind;
  namespace: string;
  task: string;
  start: Date;
  registered: boolean;
  notTested: string[];
}

/** Serialises the moment of closing over all rounds, so that report versions become visible in their order. */
const versionLock = 7_270_003;

/**
 * Closes a round in one transaction: silent runners get their record, sums and percentiles are taken, the round before is
 * compared, the verdict is given. Undefined when the round is closed already, unknown, or (`complete`) still waits.
 */
export async function closeRound(pool: pg.Pool, request: CloseRequest): Promise<ClosedRound | undefined> {
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query('begin');
    const closed = await closing(client, request);
    await client.query(closed === undefined ? 'rollback' : 'commit');
    broken = false;
    return closed;
  } catch (error) {
    broken = !(await rollBack(client, error));
    throw error;
  } finally {
    client.release(broken);
  }
}

async function closing(client: pg.PoolClient, { taskUid, round, cause, silent, ends: known = new Map() }: CloseRequest): Promise<ClosedRound | undefined> {
  const { rows } = await client.query<RoundHead>(
    `select kind, namespace, task, round_start as start, registered, not_tested as "notTested" from report.rounds where task_uid = $1 and round = $2 and closed_at is null for update`,
    [taskUid, round],
  );
  const head = rows[0];
  if (head === undefined) return undefined;
  // Without its Round object (the task was deleted) nobody knows whose it was.
  const foreign = head.registered ? await dropForeign(client, taskUid, round, head.start) : [];
  const waiting = await silentRunners(client, taskUid, round);
  // Who was not ready was given no work: nothing is to be waited for.
  if (cause === 'complete' && waiting.some(({ notReady }) => notReady === undefined)) return undefined;
  // Nor does its end explain anything: it was no target, and behind no Service.
  const absent = new Set(waiting.filter(({ notReady }) => notReady !== undefined).map(({ runner }) => runner));
  const ends: RunnerEnds = new Map([...known].filter(([runner]) => !absent.has(runner)));
  await recordEnds(client, taskUid, round, ends);
  await recordSilent(client, taskUid, round, waiting.map((runner) => ({ runner: runner.runner, ...silent(runner) })));
  await runnerTotals(client, taskUid, round, head.start);

  const runners = await loadRunners(client, taskUid, round);
  const sums = sumRunners(runners);
  const outcomes = await loadOutcomes(client, taskUid, round, head.start, runners, sums.targets, ends);
  const state = stateOf(cause, runners, sums.targets);
  const canceled = state === 'canceled';
  const verdict = cause === 'missed' ? missedVerdict : verdictOf(outcomes, head.notTested, canceled);
  const comparison = await compareWithPrevious(client, { taskUid, round, successRate: successRate(sums, canceled), latency: sums.percentiles, runners: outcomes });
  await client.query('select pg_advisory_xact_lock($1)', [versionLock]);
  const version = await writeClose(client, [
    taskUid, round, state, verdict.state, JSON.stringify(verdict),
    sums.targets, sums.okTargets, sums.planned, sums.sent, sums.unsent, sums.succeeded, sums.failed, sums.bytes,
    sums.runners.expected, sums.runners.ok, sums.runners.failed, sums.runners.canceled, sums.runners.error, sums.runners.missing,
    sums.latency.count, sums.latency.sumUs, sums.latency.minUs, sums.latency.maxUs, sums.latency.histogram.b, sums.latency.histogram.c,
    sums.percentiles?.p50Us ?? null, sums.percentiles?.p90Us ?? null, sums.percentiles?.p95Us ?? null, sums.percentiles?.p99Us ?? null,
    jsonOrNull(sums.errors), jsonOrNull(sums.statusCodes), jsonOrNull(sums.replyCodes), comparison === undefined ? null : JSON.stringify(comparison),
  ]);
  await client.query(`insert into report.dirty_hours values (date_trunc('hour', $1::timestamptz, 'UTC')) on conflict do nothing`, [head.start]);
  return { taskUid, round, kind: head.kind, namespace: head.namespace, task: head.task, state, verdict, version, foreign };
}

async function dropForeign(client: pg.PoolClient, taskUid: string, round: number, start: Date): Promise<string[]> {
  const { rows } = await client.query<{ runner: string }>(`delete from report.runner_rounds where task_uid = $1 and round = $2 and not expected returning runner`, [taskUid, round]);
  const foreign = rows.map(({ runner }) => runner).sort();
  for (const { table } of foreign.length === 0 ? [] : perDay) {
    await client.query(`delete from report.${table} where round_start = $3 and task_uid = $1 and round = $2 and runner = any($4)`, [taskUid, round, start, foreign]);
  }
  return foreign;
}

async function silentRunners(client: pg.PoolClient, taskUid: string, round: number): Promise<SilentRunner[]> {
  const { rows } = await client.query<Omit<SilentRunner, 'notReady'> & { notReady: string | null }>(
    `select x.runner, x.node, x.not_ready as "notReady",
       (select count(*) from report.parts p where p.task_uid = x.task_uid and p.round = x.round and p.runner = x.runner)::int as received,
       coalesce((select max(p.parts) from report.parts p where p.task_uid = x.task_uid and p.round = x.round and p.runner = x.runner), 0) as parts
     from report.runner_rounds x where x.task_uid = $1 and x.round = $2 and x.state is null order by x.runner for update of x`,
    [taskUid, round],
  );
  return rows.map((row) => ({ ...row, notReady: row.notReady ?? undefined }));
}

async function recordSilent(client: pg.PoolClient, taskUid: string, round: number, records: readonly (SilentOutcome & { runner: string })[]): Promise<void> {
  if (records.length === 0) return;
  await client.query(
    `update report.runner_rounds x set state = k.state, reason = k.reason, cut = coalesce(k.cut, x.cut), recorded_at = now()
     from unnest($3::text[], $4::text[], $5::text[], $6::text[]) k (runner, state, reason, cut) where x.task_uid = $1 and x.round = $2 and x.runner = k.runner`,
    [taskUid, round, records.map((record) => record.runner), records.map((record) => record.state), records.map((record) => record.reason), records.map((record) => record.cut ?? null)],
  );
}

const missedSummary = 'The round was missed: its time passed while nothing could run it.';
const missedVerdict: Verdict = { state: 'incomplete', summary: missedSummary, findings: [{ code: 'no-targets', severity: 'warning', subject: 'round', message: missedSummary, evidence: [] }] };

/** A canceled round that every runner had finished anyway counts as what they measured. One that measured nothing is no success. */
function stateOf(cause: CloseRequest['cause'], runners: readonly RunnerRow[], targets: number): ClosedRound['state'] {
  const expected = runners.filter((runner) => runner.expected);
  if (cause === 'missed') return 'missed';
  const cut = runners.some((runner) => runner.state === 'canceled') || (cause === 'canceled' && (expected.length === 0 || expected.some((runner) => runner.state === 'missing')));
  if (cut) return 'canceled';
  return expected.length > 0 && targets > 0 && runners.every((runner) => runner.state === 'ok') ? 'succeed' : 'fail';
}

async function writeClose(client: pg.PoolClient, values: unknown[]): Promise<number> {
  const { rows } = await client.query<{ version: number }>({
    name: 'report-close',
    text: `update report.rounds set state = $3, verdict = $4, verdict_body = $5,
       targets = $6, ok_targets = $7, planned = $8, sent = $9, unsent = $10, succeeded = $11, failed = $12, bytes = $13,
       runners_expected = $14, runners_ok = $15, runners_failed = $16, runners_canceled = $17, runners_error = $18, runners_missing = $19,
       latency_count = $20, latency_sum_us = $21, latency_min_us = $22, latency_max_us = $23, latency_b = $24, latency_c = $25,
       p50_us = $26, p90_us = $27, p95_us = $28, p99_us = $29, errors = $30, status_codes = $31, reply_codes = $32, comparison = $33,
       closed_at = clock_timestamp(), report_version = nextval('report.report_version')
     where task_uid = $1 and round = $2 returning report_version::float8 as version`,
    values,
  });
  return rows[0]!.version;
}

function jsonOrNull(counts: Record<string, number>): string | null {
  return Object.keys(counts).length === 0 ? null : JSON.stringify(counts);
}
