import type { CutCause, Starvation, TargetResult } from '@roundsman/api';
import { DistributionCollector } from '../distribution.ts';

/** How one expected runner's round ended, with what it measured; `missing` runners have no targets. */
export interface RunnerOutcome {
  runner: string;
  node: string;
  state: 'ok' | 'failed' | 'canceled' | 'error' | 'missing';
  /** In words; why it is missing or could not run. */
  reason?: string;
  /** What broke the round off on it. */
  cut?: CutCause;
  /** RFC 3339: when it measured. Absent where nobody knows. */
  startedAt?: string;
  endedAt?: string;
  /** RFC 3339: it ended or was canceled then, or somewhat later. Absent where it was not, or nobody knows when. */
  goneAt?: string;
  starvation?: Starvation;
  targets: readonly TargetResult[];
}

/** `down`: nothing succeeded. `impaired`: it answers, but the success condition does not hold. */
export type Health = 'good' | 'impaired' | 'down';

/** What one node saw of one target. */
export interface Observation {
  from: string;
  result: TargetResult;
  health: Health;
}

export function observe(from: string, result: TargetResult): Observation {
  const down = !result.ok && result.succeeded === 0;
  return { from, result, health: result.ok ? 'good' : down ? 'down' : 'impaired' };
}

/** The worst of several observations of one place: good only when all are, down only when all are. */
export function combine(all: readonly Observation[]): Health {
  if (all.every((o) => o.health === 'good')) return 'good';
  return all.every((o) => o.health === 'down') ? 'down' : 'impaired';
}

/** Of several targets, those that answer nobody while another one answers. */
export function deadAmong(all: readonly Observation[]): Map<string, Observation[]> {
  const targets = [...Map.groupBy(all, (o) => o.result.target)];
  const dead = targets.filter(([, seen]) => combine(seen) === 'down');
  return new Map(dead.length < targets.length ? dead : []);
}

/** Those of each probing node. */
export const bySource = (all: readonly Observation[]): Map<string, Observation[]> => Map.groupBy(all, (o) => o.from);

/** `node-1 -> endpoint/v4/node-2 (http://10.0.0.2:80/): 0 of 20 succeeded, refused 20`. */
export function describe({ from, result: r }: Observation): string {
  const errors = Object.entries(r.errors).map(([code, count]) => `${code} ${count}`);
  const mean = r.latency.count > 0 ? [`mean ${(r.latency.sumUs / r.latency.count / 1000).toFixed(2)} ms`] : [];
  const p99 = r.latency.count > 0 ? [`p99 ${(DistributionCollector.fromData(r.latency).quantile(0.99)! / 1000).toFixed(2)} ms`] : [];
  const unsent = r.unsent > 0 ? [`unsent ${r.unsent}`] : [];
  return `${from} -> ${r.target} (${r.address}): ${[`${r.succeeded} of ${r.planned} succeeded`, ...mean, ...p99, ...errors, ...unsent].join(', ')}`;
}

export const maxEvidence = 20;

export function evidenceOf(all: readonly Observation[]): string[] {
  const bad = all.filter((o) => o.health !== 'good');
  const lines = (bad.length > 0 ? bad : all).slice(0, maxEvidence).map(describe);
  if (bad.length > maxEvidence) lines[maxEvidence - 1] = `and ${bad.length - maxEvidence + 1} more`;
  return lines;
}
