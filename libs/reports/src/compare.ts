import { reportBounds, type Comparison } from '@roundsman/api';
import type { Percentiles, RunnerOutcome } from '@roundsman/measure';
import type pg from 'pg';
import { round1 } from './render.ts';

interface Current {
  taskUid: string;
  round: number;
  successRate: number;
  latency: Percentiles | undefined;
  runners: readonly RunnerOutcome[];
}

/** This round minus the last one before it that measured something and ran to its end; undefined when there is none. */
export async function compareWithPrevious(client: pg.PoolClient, { taskUid, round, successRate, latency, runners }: Current): Promise<Comparison | undefined> {
  const { rows } = await client.query<{ round: number; start: Date; rate: number; p50: number | null; p99: number | null }>(
    `select round, round_start as start, succeeded::float8 / planned as rate, p50_us as p50, p99_us as p99 from report.rounds
     where task_uid = $1 and round < $2 and state in ('succeed', 'fail') and planned > 0 order by round desc limit 1`,
    [taskUid, round],
  );
  const previous = rows[0];
  if (previous === undefined) return undefined;
  const before = await outcomesOf(client, taskUid, previous.round, previous.start);
  const comparison: Comparison = {
    previousRound: previous.round,
    successRateDelta: Math.round((successRate - previous.rate) * 1e6) / 1e6,
    newlyFailing: [],
    recovered: [],
    appeared: 0,
    disappeared: 0,
  };
  for (const { runner, targets } of runners) {
    for (const { target, ok, reason } of targets) {
      const key = `${runner}\n${target}`;
      const was = before.get(key);
      if (was === undefined) comparison.appeared += 1;
      else if (was && !ok && comparison.newlyFailing.length < reportBounds.changes) comparison.newlyFailing.push({ runner, target, ...(reason === undefined ? {} : { reason }) });
      else if (!was && ok && comparison.recovered.length < reportBounds.changes) comparison.recovered.push({ runner, target });
      before.delete(key);
    }
  }
  comparison.disappeared = before.size;
  if (latency?.p50Us !== undefined && latency.p99Us !== undefined && previous.p50 !== null && previous.p99 !== null) {
    comparison.p50DeltaUs = round1(latency.p50Us - previous.p50);
    comparison.p99DeltaUs = round1(latency.p99Us - previous.p99);
    if (previous.p99 > 0) comparison.p99Ratio = Math.round((latency.p99Us / previous.p99) * 1000) / 1000;
  }
  return comparison;
}

/** Joined here rather than in SQL: a fresh partition has no statistics, and a join planned without them can take minutes. */
async function outcomesOf(client: pg.PoolClient, taskUid: string, round: number, start: Date): Promise<Map<string, boolean>> {
  const { rows } = await client.query<[string, string, boolean]>({
    rowMode: 'array',
    text: 'select runner, target, ok from report.results where round_start = $3 and task_uid = $1 and round = $2',
    values: [taskUid, round, start],
  });
  return new Map(rows.map(([runner, target, ok]) => [`${runner}\n${target}`, ok]));
}
