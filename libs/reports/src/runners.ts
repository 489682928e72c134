import type { CutCause, Distribution, ProbeErrorCode, Starvation } from '@roundsman/api';
import { compareNames, DistributionCollector, percentiles } from '@roundsman/measure';
import type pg from 'pg';

/** A runner's record in a round, with the sums over its targets (set when the round is closed). */
export interface RunnerRow {
  runner: string;
  node: string;
  /** Pod it runs in. */
  pod: string | null;
  expected: boolean;
  state: 'ok' | 'failed' | 'canceled' | 'error' | 'missing';
  reason: string | null;
  cut: CutCause | null;
  startedAt: Date | null;
  endedAt: Date | null;
  starvation: Starvation | null;
  runningLoad: Record<string, number> | null;
  targets: number;
  okTargets: number;
  planned: number;
  sent: number;
  unsent: number;
  succeeded: number;
  failed: number;
  bytes: number;
  latency: Distribution;
  lagP99Us: number | null;
  errors: Partial<Record<ProbeErrorCode, number>> | null;
  statusCodes: Record<string, number> | null;
  replyCodes: Record<string, number> | null;
}

const merged = (column: string): string => `(
  select runner, array_agg(b order by b) as b, array_agg(c order by b) as c from (
    select x.runner, u.b, sum(u.c)::bigint as c from mine x, lateral unnest(x.${column}_b, x.${column}_c) u (b, c) group by 1, 2) s group by 1)`;
const counted = (column: string): string => `(
  select runner, jsonb_object_agg(key, n) as counts from (
    select x.runner, e.key, sum(e.value::bigint) as n from mine x, lateral jsonb_each_text(x.${column}) e group by 1, 2) s group by 1)`;

/**
 * Sums a round's rows into its runners' records. A runner of whose announced targets some never came (they were lost on the
 * way, or are too old to be kept) is an error, whatever it said itself.
 */
export async function runnerTotals(client: pg.PoolClient, taskUid: string, round: number, start: Date): Promise<void> {
  await client.query({
    name: 'report-runner-totals',
    text: `with mine as materialized (
        select runner, ok, planned, sent, unsent, succeeded, failed, bytes, latency_count, latency_sum_us, latency_min_us, latency_max_us, latency_b, latency_c, lag_p99_us, errors, status_codes, reply_codes
        from report.results where round_start = $3 and task_uid = $1 and round = $2),
      sums as (select runner, count(*) as targets, count(*) filter (where ok) as ok_targets, sum(planned) as planned, sum(sent) as sent, sum(unsent) as unsent,
          sum(succeeded) as succeeded, sum(failed) as failed, sum(bytes) as bytes, sum(latency_count) as n, sum(latency_sum_us) as sum_us,
          min(latency_min_us) filter (where latency_count > 0) as min_us, max(latency_max_us) as max_us, max(lag_p99_us) as lag_p99_us from mine group by 1)
      update report.runner_rounds r set targets = coalesce(s.targets, 0), ok_targets = coalesce(s.ok_targets, 0), planned = coalesce(s.planned, 0), sent = coalesce(s.sent, 0),
        unsent = coalesce(s.unsent, 0), succeeded = coalesce(s.succeeded, 0), failed = coalesce(s.failed, 0), bytes = coalesce(s.bytes, 0),
        latency_count = coalesce(s.n, 0), latency_sum_us = coalesce(s.sum_us, 0), latency_min_us = coalesce(s.min_us, 0), latency_max_us = coalesce(s.max_us, 0),
        latency_b = coalesce(h.b, '{}'), latency_c = coalesce(h.c, '{}'), lag_p99_us = s.lag_p99_us,
        errors = e.counts, status_codes = c.counts, reply_codes = d.counts,
        state = case when lost.n > 0 and r.state in ('ok', 'failed') then 'error' else r.state end,
        reason = case when lost.n > 0 and r.state in ('ok', 'failed', 'error', 'canceled') then concat_ws('; ', lost.n || ' of ' || r.target_count || ' target results are lost', r.reason) else r.reason end
      from report.runner_rounds k
      left join sums s using (runner) left join ${merged('latency')} h using (runner)
      left join ${counted('errors')} e using (runner) left join ${counted('status_codes')} c using (runner) left join ${counted('reply_codes')} d using (runner)
      left join lateral (select k.target_count - coalesce(s.targets, 0) as n) lost on true
      where k.task_uid = $1 and k.round = $2 and r.task_uid = k.task_uid and r.round = k.round and r.runner = k.runner`,
    values: [taskUid, round, start],
  });
}

/** In SQL, a runner's record as `RunnerRow` but for its distribution. */
export const runnerColumns = `x.runner, x.node, x.pod, x.expected, x.state, x.reason, x.cut, x.started_at as "startedAt", x.ended_at as "endedAt", x.starvation, x.running_load as "runningLoad",
  x.targets, x.ok_targets as "okTargets", x.planned::float8, x.sent::float8, x.unsent::float8, x.succeeded::float8, x.failed::float8, x.bytes::float8,
  x.latency_count::float8 as n, x.latency_sum_us as sum, x.latency_min_us as min, x.latency_max_us as max, x.latency_b as b, x.latency_c::float8[] as c,
  x.lag_p99_us as "lagP99Us", x.errors, x.status_codes as "statusCodes", x.reply_codes as "replyCodes"`;
export type RunnerRecord = Omit<RunnerRow, 'latency'> & FlatDistribution;

export async function loadRunners(client: pg.ClientBase | pg.Pool, taskUid: string, round: number): Promise<RunnerRow[]> {
  const { rows } = await client.query<RunnerRecord>({
    name: 'report-load-runners',
    text: `select ${runnerColumns} from report.runner_rounds x where x.task_uid = $1 and x.round = $2`,
    values: [taskUid, round],
  });
  return rows.map((row) => ({ ...row, latency: distributionOf(row) })).sort((a, b) => compareNames(a.runner, b.runner));
}

/** A distribution as a query returns it. */
export interface FlatDistribution {
  n: number;
  sum: number;
  min: number;
  max: number;
  b: number[] | null;
  c: number[] | null;
}
export function distributionOf({ n, sum, min, max, b, c }: FlatDistribution): Distribution {
  return { count: n, sumUs: sum, minUs: min, maxUs: max, histogram: { b: b ?? [], c: c ?? [] } };
}

export function sumRunners(runners: readonly RunnerRow[]) {
  const sums = { targets: 0, okTargets: 0, planned: 0, sent: 0, unsent: 0, succeeded: 0, failed: 0, bytes: 0 };
  const states = { expected: 0, ok: 0, failed: 0, canceled: 0, error: 0, missing: 0 };
  const errors: Record<string, number> = {};
  const statusCodes: Record<string, number> = {};
  const replyCodes: Record<string, number> = {};
  const collector = new DistributionCollector();
  for (const runner of runners) {
    for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += runner[key];
    if (runner.expected) states.expected += 1;
    states[runner.state] += 1;
    collector.merge(runner.latency);
    addCounts(errors, runner.errors);
    addCounts(statusCodes, runner.statusCodes);
    addCounts(replyCodes, runner.replyCodes);
  }
  const latency = collector.toData();
  return {
    ...sums,
    runners: states,
    latency,
    percentiles: latency.count === 0 ? undefined : percentiles(latency),
    errors,
    statusCodes,
    replyCodes,
  };
}

function addCounts(into: Record<string, number>, from: Record<string, number> | null): void {
  for (const [key, count] of Object.entries(from ?? {})) into[key] = (into[key] ?? 0) + count;
}
