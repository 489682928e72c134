import { MetricError } from '../metrics/metric-error.ts';
import type { PodMetrics } from './pod-groups.ts';

/** Whole numbers, as they are divided in Go; exact beyond what a number can hold on the way. */
const divided = (a: bigint, b: bigint): number => Number(a / b);
const sumOf = (metrics: Iterable<{ readonly value: number }>): bigint => {
  let sum = 0n;
  for (const { value } of metrics) sum += BigInt(value);
  return sum;
};

export interface Utilization {
  /** Above 1: more than the target. */
  readonly ratio: number;
  /** Percent of what is requested, all pods together. */
  readonly percent: number;
  /** The mean over the pods, in thousandths. */
  readonly average: number;
}

/** What measured pods use of what they request. Throws a MetricError when they request nothing. */
export function utilizationOf(metrics: PodMetrics, requests: ReadonlyMap<string, number>, targetPercent: number): Utilization {
  const known = [...metrics].filter(([name]) => requests.has(name));
  const requested = known.reduce((sum, [name]) => sum + BigInt(requests.get(name) as number), 0n);
  if (requested === 0n) throw new MetricError('no metrics returned matched known pods');
  const used = sumOf(known.map(([, metric]) => metric));
  const percent = divided(used * 100n, requested);
  return { ratio: percent / targetPercent, percent, average: divided(used, BigInt(known.length)) };
}

/** What measured pods use of a target that is an amount, in thousandths. */
export function usageOf(metrics: PodMetrics, target: number): Pick<Utilization, 'ratio' | 'average'> {
  const average = divided(sumOf(metrics.values()), BigInt(metrics.size));
  return { ratio: average / target, average };
}
