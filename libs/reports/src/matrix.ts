import { reportBounds, type MatrixReport } from '@roundsman/api';
import { compareNames, DistributionCollector } from '@roundsman/measure';
import type pg from 'pg';
import { round1, type RoundRow } from './render.ts';
import { distributionOf, type FlatDistribution, type RunnerRow } from './runners.ts';

/** `tried`: what the success rate is a share of. */
type Cell = MatrixReport['cells'][number] & { tried: number; latency: DistributionCollector };
interface PairSums {
  runner: string;
  node: string;
  targets: number;
  ok: number;
  planned: number;
  tried: number;
  succeeded: number;
}

/**
 * Node x node from a round's rows of the runners' own addresses, at most `reportBounds.matrix` cells, those with bad targets first. No joins: a fresh
 * partition has no statistics, and a join planned without them can take minutes.
 */
export async function matrixOf(pool: pg.Pool, { taskUid, round, start, state }: RoundRow, runners: readonly RunnerRow[]): Promise<{ shown: MatrixReport; cells: number }> {
  const nodeOf = new Map(runners.map(({ runner, node }) => [runner, node]));
  const keys = [taskUid, round, start];
  const sums = await pool.query<PairSums>(
    `select runner, target_node as node, count(*)::int as targets, count(*) filter (where ok)::int as ok, sum(planned)::float8 as planned,
       sum(case when $4 then sent - coalesce((errors ->> 'canceled')::bigint, 0) else planned end)::float8 as tried, sum(succeeded)::float8 as succeeded
     from report.results where round_start = $3 and task_uid = $1 and round = $2 and target_node is not null and layer = 'endpoint' and interface is null group by 1, 2`,
    [...keys, state === 'canceled'],
  );
  const cells = new Map<string, Cell>();
  for (const { runner, node: to, targets, ok, planned, tried, succeeded } of sums.rows) {
    const from = nodeOf.get(runner) ?? runner;
    const key = `${from}\n${to}`;
    let cell = cells.get(key);
    if (cell === undefined) cells.set(key, (cell = { from, to, targets: 0, okTargets: 0, planned: 0, tried: 0, succeeded: 0, successRate: 0, latency: empty }));
    cell.targets += targets;
    cell.okTargets += ok;
    cell.planned += planned;
    cell.tried += tried;
    cell.succeeded += succeeded;
  }
  const chosen = [...cells.values()].sort((a, b) => b.targets - b.okTargets - (a.targets - a.okTargets)).slice(0, reportBounds.matrix);
  await addLatency(pool, keys, cells, chosen, sums.rows, nodeOf);
  const shown = chosen.sort((a, b) => compareNames(a.from, b.from) || compareNames(a.to, b.to)).map(finish);
  return { shown: { from: names(shown.map(({ from }) => from)), to: names(shown.map(({ to }) => to)), cells: shown }, cells: cells.size };
}

const empty = new DistributionCollector();

/** Merges the histograms of the chosen cells. Pairs are picked by a list that Postgres hashes, not by a join. */
async function addLatency(pool: pg.Pool, keys: unknown[], cells: Map<string, Cell>, chosen: readonly Cell[], sums: readonly PairSums[], nodeOf: ReadonlyMap<string, string>): Promise<void> {
  const wanted = new Set(chosen);
  const cellOf = (runner: string, to: string): Cell | undefined => cells.get(`${nodeOf.get(runner) ?? runner}\n${to}`);
  const pairs = sums.filter(({ runner, node }) => wanted.has(cellOf(runner, node)!)).map(({ runner, node }) => `${runner}\n${node}`);
  const { rows } = await pool.query<FlatDistribution & { runner: string; node: string }>(
    `select runner, target_node as node, latency_count as n, latency_sum_us as sum, latency_min_us as min, latency_max_us as max, latency_b as b, latency_c as c
     from report.results where round_start = $3 and task_uid = $1 and round = $2 and latency_count > 0 and layer = 'endpoint' and interface is null and runner || chr(10) || target_node = any ($4::text[])`,
    [...keys, pairs],
  );
  for (const { runner, node, ...row } of rows) {
    const cell = cellOf(runner, node)!;
    if (cell.latency === empty) cell.latency = new DistributionCollector();
    cell.latency.merge(distributionOf(row));
  }
}

function finish({ latency, tried, ...cell }: Cell): MatrixReport['cells'][number] {
  return {
    ...cell,
    successRate: tried > 0 ? cell.succeeded / tried : 0,
    ...(latency.count === 0 ? {} : { meanUs: round1(latency.sumUs / latency.count), p50Us: round1(latency.quantile(0.5)!), p99Us: round1(latency.quantile(0.99)!) }),
  };
}

function names(all: readonly string[]): string[] {
  return [...new Set(all)].sort(compareNames);
}
