import type { Distribution, ProbeErrorCode, TargetResult } from '@roundsman/api';
import { DistributionCollector } from './distribution.ts';

/** Results of one runner; the runner's node is the row of the matrix. */
export interface RunnerResults {
  runner: string;
  node: string;
  targets: readonly TargetResult[];
}

/** Counts and merged distributions over any number of target results. */
export interface Aggregate {
  targets: number;
  okTargets: number;
  planned: number;
  sent: number;
  unsent: number;
  succeeded: number;
  failed: number;
  bytes: number;
  /** Successes divided by planned, 0..1; 0 when nothing was planned. */
  successRate: number;
  latency: Distribution;
  sendLag: Distribution;
  errors: Partial<Record<ProbeErrorCode, number>>;
  statusCodes: Record<string, number>;
  replyCodes: Record<string, number>;
}

export function aggregate(results: Iterable<TargetResult>): Aggregate {
  const latency = new DistributionCollector();
  const sendLag = new DistributionCollector();
  const sum = { targets: 0, okTargets: 0, planned: 0, sent: 0, unsent: 0, succeeded: 0, failed: 0, bytes: 0 };
  const errors: Partial<Record<ProbeErrorCode, number>> = {};
  const statusCodes: Record<string, number> = {};
  const replyCodes: Record<string, number> = {};
  for (const result of results) {
    sum.targets += 1;
    if (result.ok) sum.okTargets += 1;
    for (const key of ['planned', 'sent', 'unsent', 'succeeded', 'failed', 'bytes'] as const) sum[key] += result[key];
    latency.merge(result.latency);
    sendLag.merge(result.sendLag);
    addCounts(errors, result.errors);
    addCounts(statusCodes, result.statusCodes);
    addCounts(replyCodes, result.replyCodes);
  }
  return {
    ...sum,
    successRate: sum.planned === 0 ? 0 : sum.succeeded / sum.planned,
    latency: latency.toData(),
    sendLag: sendLag.toData(),
    errors,
    statusCodes,
    replyCodes,
  };
}

function addCounts<K extends string>(into: Partial<Record<K, number>>, from: Partial<Record<K, number>>): void {
  for (const [key, count] of Object.entries(from) as [K, number][]) into[key] = (into[key] ?? 0) + count;
}

/** What one node saw of another: all targets on `to`, probed from `from`. */
export interface MatrixCell {
  from: string;
  to: string;
  targets: number;
  okTargets: number;
  planned: number;
  succeeded: number;
  p50Us: number | undefined;
  p99Us: number | undefined;
  meanUs: number | undefined;
}

/** Node x node: rows are the probers' nodes, columns the targets' nodes. Pairs nobody measured have no cell. */
export interface Matrix {
  from: string[];
  to: string[];
  cells: MatrixCell[];
}

export function matrix(runners: Iterable<RunnerResults>): Matrix {
  const byPair = new Map<string, { from: string; to: string; results: TargetResult[] }>();
  for (const { node, targets } of runners) {
    for (const result of targets) {
      if (result.targetNode === undefined) continue;
      const key = JSON.stringify([node, result.targetNode]);
      let pair = byPair.get(key);
      if (pair === undefined) byPair.set(key, (pair = { from: node, to: result.targetNode, results: [] }));
      pair.results.push(result);
    }
  }
  const cells = [...byPair.values()].map(({ from, to, results }): MatrixCell => {
    const sum = aggregate(results);
    const latency = DistributionCollector.fromData(sum.latency);
    return {
      from,
      to,
      targets: sum.targets,
      okTargets: sum.okTargets,
      planned: sum.planned,
      succeeded: sum.succeeded,
      p50Us: latency.quantile(0.5),
      p99Us: latency.quantile(0.99),
      meanUs: latency.count === 0 ? undefined : latency.sumUs / latency.count,
    };
  });
  cells.sort((a, b) => compareNames(a.from, b.from) || compareNames(a.to, b.to));
  return { from: names(cells.map((c) => c.from)), to: names(cells.map((c) => c.to)), cells };
}

function names(all: string[]): string[] {
  return [...new Set(all)].sort(compareNames);
}

/** node-2 before node-10. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b);
}

/** Made once: localeCompare makes one per call. */
const collator = new Intl.Collator('en', { numeric: true });
