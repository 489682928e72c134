import type { Failure, TargetResult } from '@roundsman/api';
import type { RunnerOutcome } from '@roundsman/measure';
import type pg from 'pg';
import { distributionOf, type FlatDistribution, type RunnerRow } from './runners.ts';

/** Above this many rows, the histograms of good targets stay in Postgres: the verdict does not look at them. */
const manyTargets = 20_000;

type Row = Pick<TargetResult, 'target' | 'layer' | 'address' | 'method' | 'planned' | 'sent' | 'unsent' | 'succeeded' | 'failed' | 'bytes' | 'ok'> & {
  runner: string;
  startedAt: Date;
  endedAt: Date;
  targetNode: string | null;
  family: 'v4' | 'v6' | null;
  reason: string | null;
  errors: TargetResult['errors'] | null;
  statusCodes: TargetResult['statusCodes'] | null;
  replyCodes: TargetResult['replyCodes'] | null;
} & FlatDistribution;

/** What the verdict is given: every runner with everything it measured, and one raw failure of each kind per target. */
export async function loadOutcomes(client: pg.PoolClient, taskUid: string, round: number, start: Date, runners: readonly RunnerRow[], targets: number): Promise<RunnerOutcome[]> {
  const { rows } = await client.query<Row>(
    `select runner, target, layer, address, method, target_node as "targetNode", family, started_at as "startedAt", ended_at as "endedAt",
       planned, sent, unsent, succeeded, failed, bytes::float8, ok, reason, errors, status_codes as "statusCodes", reply_codes as "replyCodes",
       latency_count as n, latency_sum_us as sum, latency_min_us as min, latency_max_us as max,
       case when $4 or not ok then latency_b end as b, case when $4 or not ok then latency_c end as c
     from report.results where round_start = $3 and task_uid = $1 and round = $2 order by runner, target`,
    [taskUid, round, start, targets <= manyTargets],
  );
  const failures = await client.query<{ runner: string; target: string; at: Date; code: Failure['code']; message: string; latencyUs: number }>(
    `select distinct on (runner, target, code) runner, target, at, code, message, latency_us as "latencyUs"
     from report.failures where round_start = $3 and task_uid = $1 and round = $2 order by runner, target, code, at, message`,
    [taskUid, round, start],
  );
  const failuresOf = Map.groupBy(failures.rows, ({ runner, target }) => `${runner}\n${target}`);
  const resultsOf = Map.groupBy(rows, ({ runner }) => runner);
  const none = distributionOf({ n: 0, sum: 0, min: 0, max: 0, b: null, c: null });
  return runners.map((runner): RunnerOutcome => ({
    runner: runner.runner,
    node: runner.node,
    state: runner.state,
    ...(runner.reason === null ? {} : { reason: runner.reason }),
    ...(runner.starvation === null ? {} : { starvation: runner.starvation }),
    targets: (resultsOf.get(runner.runner) ?? []).map(({ runner: name, startedAt, endedAt, targetNode, family, reason, errors, statusCodes, replyCodes, n, sum, min, max, b, c, ...row }) => ({
      ...row,
      ...(targetNode === null ? {} : { targetNode }),
      ...(family === null ? {} : { family }),
      ...(reason === null ? {} : { reason }),
      startedAt: startedAt.toISOString(),
      endedAt: endedAt.toISOString(),
      latency: distributionOf({ n, sum, min, max, b, c }),
      sendLag: none,
      phases: {},
      errors: errors ?? {},
      statusCodes: statusCodes ?? {},
      replyCodes: replyCodes ?? {},
      failures: (failuresOf.get(`${name}\n${row.target}`) ?? []).map(({ at, code, message, latencyUs }) => ({ at: at.toISOString(), code, message, latencyUs })),
    })),
  }));
}
