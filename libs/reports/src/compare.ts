import { reportBounds, type Comparison } from '@roundsman/api';
import type { Percentiles } from '@roundsman/measure';
import type pg from 'pg';
import { round1 } from './render.ts';

interface Current {
  taskUid: string;
  round: number;
  start: Date;
  successRate: number;
  latency: Percentiles | undefined;
}

/** This round minus the last one before it that measured something and ran to its end; undefined when there is none. */
export async function compareWithPrevious(client: pg.PoolClient, { taskUid, round, start, successRate, latency }: Current): Promise<Comparison | undefined> {
  const { rows } = await client.query<{ round: number; start: Date; rate: number; p50: number | null; p99: number | null }>(
    `select round, round_start as start, succeeded::float8 / planned as rate, p50_us as p50, p99_us as p99 from report.rounds
     where task_uid = $1 and round < $2 and state in ('succeed', 'fail') and planned > 0 order by round desc limit 1`,
    [taskUid, round],
  );
  const previous = rows[0];
  if (previous === undefined) return undefined;
  const pairs = `(select runner, target, ok, reason from report.results where round_start = $3 and task_uid = $1 and round = $2) c
    full join (select runner, target, ok from report.results where round_start = $5 and task_uid = $1 and round = $4) p using (runner, target)`;
  const keys = [taskUid, round, start, previous.round, previous.start];
  const counts = await client.query<{ appeared: number; disappeared: number }>(
    `select count(*) filter (where p.ok is null)::int as appeared, count(*) filter (where c.ok is null)::int as disappeared from ${pairs}`,
    keys,
  );
  const changed = await client.query<{ runner: string; target: string; ok: boolean; reason: string | null }>(
    `(select runner, target, c.ok, c.reason from ${pairs} where p.ok and not c.ok order by 1, 2 limit ${reportBounds.changes})
     union all (select runner, target, c.ok, c.reason from ${pairs} where c.ok and not p.ok order by 1, 2 limit ${reportBounds.changes})`,
    keys,
  );
  const comparison: Comparison = {
    previousRound: previous.round,
    successRateDelta: Math.round((successRate - previous.rate) * 1e6) / 1e6,
    newlyFailing: changed.rows.filter((row) => !row.ok).map(({ runner, target, reason }) => ({ runner, target, ...(reason === null ? {} : { reason }) })),
    recovered: changed.rows.filter((row) => row.ok).map(({ runner, target }) => ({ runner, target })),
    ...counts.rows[0]!,
  };
  if (latency?.p50Us !== undefined && latency.p99Us !== undefined && previous.p50 !== null && previous.p99 !== null) {
    comparison.p50DeltaUs = round1(latency.p50Us - previous.p50);
    comparison.p99DeltaUs = round1(latency.p99Us - previous.p99);
    if (previous.p99 > 0) comparison.p99Ratio = Math.round((latency.p99Us / previous.p99) * 1000) / 1000;
  }
  return comparison;
}
