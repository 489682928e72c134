import type { Failure, TargetResult } from '@roundsman/api';
import type { RunnerOutcome } from '@roundsman/measure';
import type pg from 'pg';
import type { RunnerEnds } from './ends.ts';
import { distributionOf, type FlatDistribution, type RunnerRow } from './runners.ts';

/** Above this many rows, the histograms of good targets stay in Postgres: the verdict does not look at them. */
const manyTargets = 20_000;
/** Rows read at a time, so that a giant round is in memory once and not three times. */
const page = 5_000;

type Row = Pick<TargetResult, 'target' | 'layer' | 'address' | 'method' | 'planned' | 'sent' | 'unsent' | 'succeeded' | 'failed' | 'bytes' | 'ok'> & {
  runner: string;
  targetNode: string | null;
  family: 'v4' | 'v6' | null;
  interface: string | null;
  reason: string | null;
  errors: TargetResult['errors'] | null;
  statusCodes: TargetResult['statusCodes'] | null;
  replyCodes: TargetResult['replyCodes'] | null;
  lagCount: number | null;
  lagSumUs: number | null;
  lagMaxUs: number | null;
} & FlatDistribution;

// Shared by all rows that have nothing to say.
const nothing = Object.freeze({});
const noFailures: Failure[] = [];
const noDistribution = distributionOf({ n: 0, sum: 0, min: 0, max: 0, b: null, c: null });

/**
 * What the verdict and the comparison are given: every runner with what it measured, and one raw failure of each kind per
 * target. Start and end are the round's start, send lag is without histogram, phases are empty: nobody looks at them here.
 */
export async function loadOutcomes(client: pg.PoolClient, taskUid: string, round: number, start: Date, runners: readonly RunnerRow[], targets: number, ends: RunnerEnds): Promise<RunnerOutcome[]> {
  const failures = await client.query<Omit<Failure, 'at'> & { at: Date; runner: string; target: string }>(
    `select distinct on (runner, target, code) runner, target, at, code, message, latency_us as "latencyUs"
     from report.failures where round_start = $3 and task_uid = $1 and round = $2 order by runner, target, code, at, message`,
    [taskUid, round, start],
  );
  const failuresOf = Map.groupBy(failures.rows, ({ runner, target }) => `${runner}\n${target}`);
  const at = start.toISOString();
  const resultsOf = new Map<string, TargetResult[]>(runners.map(({ runner }) => [runner, []]));
  await client.query(
    `declare outcomes no scroll cursor for
     select runner, target, layer, address, method, target_node as "targetNode", family, interface, planned, sent, unsent, succeeded, failed, bytes::float8, ok, reason,
       errors, case when not ok then status_codes end as "statusCodes", case when not ok then reply_codes end as "replyCodes",
       case when not ok then lag_count end as "lagCount", lag_sum_us as "lagSumUs", lag_max_us as "lagMaxUs",
       latency_count as n, latency_sum_us as sum, latency_min_us as min, latency_max_us as max,
       case when $4 or not ok then latency_b end as b, case when $4 or not ok then latency_c end as c
     from report.results where round_start = $3 and task_uid = $1 and round = $2 order by runner, target`,
    [taskUid, round, start, targets <= manyTargets],
  );
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${page} from outcomes`);
    for (const { runner, targetNode, family, interface: name, reason, errors, statusCodes, replyCodes, lagCount, lagSumUs, lagMaxUs, n, sum, min, max, b, c, ...row } of rows) {
      const own = failuresOf.get(`${runner}\n${row.target}`);
      resultsOf.get(runner)?.push({
        ...row,
        ...(targetNode === null ? {} : { targetNode }),
        ...(family === null ? {} : { family }),
        ...(name === null ? {} : { interface: name }),
        ...(reason === null ? {} : { reason }),
        startedAt: at,
        endedAt: at,
        latency: n === 0 ? noDistribution : distributionOf({ n, sum, min, max, b, c }),
        sendLag: lagCount === null ? noDistribution : { ...noDistribution, count: lagCount, sumUs: lagSumUs ?? 0, maxUs: lagMaxUs ?? 0 },
        phases: nothing,
        errors: errors ?? nothing,
        statusCodes: statusCodes ?? nothing,
        replyCodes: replyCodes ?? nothing,
        failures: own === undefined ? noFailures : own.map(({ at: when, code, message, latencyUs }) => ({ at: when.toISOString(), code, message, latencyUs })),
      });
    }
    if (rows.length < page) break;
  }
  await client.query('close outcomes');
  return runners.map(({ runner, node, state, reason, cut, startedAt, endedAt, starvation }): RunnerOutcome => {
    // One that ended, or was canceled, measured until then.
    const goneAt = ends.get(runner)?.at ?? (cut === 'ended' || state === 'canceled' ? endedAt : null);
    return {
      runner,
      node,
      state,
      ...(reason === null ? {} : { reason }),
      ...(cut === null ? {} : { cut }),
      ...(startedAt === null || endedAt === null ? {} : { startedAt: startedAt.toISOString(), endedAt: endedAt.toISOString() }),
      ...(goneAt === null ? {} : { goneAt: goneAt.toISOString() }),
      ...(starvation === null ? {} : { starvation }),
      targets: resultsOf.get(runner) ?? [],
    };
  });
}
