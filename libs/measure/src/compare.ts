import type { TargetResult } from '@roundsman/api';
import { aggregate, compareNames, type RunnerResults } from './aggregate.ts';
import { DistributionCollector } from './distribution.ts';

/** One runner and target whose outcome is not what it was in the round before. */
export interface OutcomeChange {
  runner: string;
  target: string;
  change: 'broke' | 'recovered' | 'appeared' | 'disappeared';
  /** Why it failed, where it does. */
  reason?: string;
}

/** This round minus the one before. Latencies are absent where one of the rounds had no success. */
export interface RoundComparison {
  successRateDelta: number;
  p50DeltaUs?: number;
  p99DeltaUs?: number;
  /** This round's p99 divided by the previous one's. */
  p99Ratio?: number;
  changes: OutcomeChange[];
}

export function compareRounds(current: readonly RunnerResults[], previous: readonly RunnerResults[]): RoundComparison {
  const now = aggregate(current.flatMap((r) => [...r.targets]));
  const before = aggregate(previous.flatMap((r) => [...r.targets]));
  const nowLatency = DistributionCollector.fromData(now.latency);
  const beforeLatency = DistributionCollector.fromData(before.latency);
  const comparison: RoundComparison = { successRateDelta: now.successRate - before.successRate, changes: changes(current, previous) };
  if (nowLatency.count > 0 && beforeLatency.count > 0) {
    comparison.p50DeltaUs = nowLatency.quantile(0.5)! - beforeLatency.quantile(0.5)!;
    comparison.p99DeltaUs = nowLatency.quantile(0.99)! - beforeLatency.quantile(0.99)!;
    const p99Before = beforeLatency.quantile(0.99)!;
    if (p99Before > 0) comparison.p99Ratio = nowLatency.quantile(0.99)! / p99Before;
  }
  return comparison;
}

function changes(current: readonly RunnerResults[], previous: readonly RunnerResults[]): OutcomeChange[] {
  const now = index(current);
  const before = index(previous);
  const found: OutcomeChange[] = [];
  for (const [key, { runner, result }] of now) {
    const old = before.get(key)?.result;
    const at = { runner, target: result.target };
    const why = result.reason === undefined ? {} : { reason: result.reason };
    if (old === undefined) found.push({ ...at, change: 'appeared', ...why });
    else if (old.ok && !result.ok) found.push({ ...at, change: 'broke', ...why });
    else if (!old.ok && result.ok) found.push({ ...at, change: 'recovered' });
  }
  for (const [key, { runner, result }] of before) {
    if (!now.has(key)) found.push({ runner, target: result.target, change: 'disappeared' });
  }
  return found.sort((a, b) => compareNames(a.runner, b.runner) || compareNames(a.target, b.target));
}

function index(runners: readonly RunnerResults[]): Map<string, { runner: string; result: TargetResult }> {
  const byKey = new Map<string, { runner: string; result: TargetResult }>();
  for (const { runner, targets } of runners) {
    for (const result of targets) byKey.set(JSON.stringify([runner, result.target]), { runner, result });
  }
  return byKey;
}
