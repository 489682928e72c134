import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { HorizontalPodAutoscaler, Pod, ScalingBehavior } from '@roundsman/api';
import { MetricError } from './metrics/metric-error.ts';
import { paced } from './pace/paced.ts';
import { replicasForAverage, replicasForUtilization, type Measured } from './replicas/resource-replicas.ts';

/** What Kubernetes' own autoscaler made of random situations (testing/record.mjs). Ages are seconds. */
interface Recorded {
  readonly replicas: readonly ReplicasCase[];
  readonly pace: readonly PaceCase[];
}
interface ReplicasCase {
  readonly pods: readonly { readonly phase: string; readonly deleted?: boolean; readonly ready?: string; readonly started: number; readonly changed: number; readonly requests: readonly number[]; readonly metric?: { readonly value: number; readonly age: number; readonly window: number } }[] | null;
  readonly resource: string;
  readonly percent?: number;
  readonly average?: number;
  readonly current: number;
  readonly result: { readonly replicas: number; readonly percent?: number; readonly average: number; readonly error?: string };
}
interface Aged {
  readonly number: number;
  readonly age: number;
}
interface PaceCase {
  readonly behavior?: ScalingBehavior;
  readonly recommendations: readonly Aged[];
  readonly ups: readonly Aged[];
  readonly downs: readonly Aged[];
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly replicas: number;
  readonly conditions: readonly string[];
}

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, '../../src/autoscaling/testing/recorded.json'), 'utf8')) as Recorded;
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const ago = (seconds: number): number => nowMs - seconds * 1000;
const time = (seconds: number): string => new Date(ago(seconds)).toISOString();

const podOf = ({ phase, deleted, ready, started, changed, requests }: NonNullable<ReplicasCase['pods']>[number], index: number, resource: string): Pod =>
  ({
    metadata: { name: `p${index}`, ...(deleted ? { deletionTimestamp: time(started) } : {}) },
    spec: { containers: requests.map((request, container) => ({ name: `c${container}`, resources: request === 0 ? {} : { requests: { [resource]: `${request}m` } } })) },
    status: { phase, startTime: time(started), ...(ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: time(changed) }] }) },
  }) as unknown as Pod;

function replicasOf({ pods, resource, percent, average, current }: ReplicasCase): ReplicasCase['result'] {
  const measured: Measured = {
    pods: (pods ?? []).map((pod, index) => podOf(pod, index, resource)),
    metrics: new Map((pods ?? []).flatMap(({ metric }, index) => (metric === undefined ? [] : [[`p${index}`, { value: metric.value, atMs: ago(metric.age), windowMs: metric.window * 1000 }]]))),
    resource, currentReplicas: current, readiness: { cpuInitializationMs: 300_000, initialReadinessDelayMs: 30_000 }, tolerance: 0.1, nowMs,
  };
  try {
    const proposal = percent === undefined ? replicasForAverage(measured, average as number) : replicasForUtilization(measured, percent);
    const { percent: used, ...result } = proposal;
    return used === undefined || used === 0 ? result : { ...result, percent: used };
  } catch (error) {
    if (error instanceof MetricError) return { replicas: 0, average: 0, error: error.message };
    throw error;
  }
}

function paceOf({ behavior, recommendations, ups, downs, current, desired, min, max }: PaceCase): Pick<PaceCase, 'replicas' | 'conditions'> {
  const events = (list: readonly Aged[]) => list.map(({ number, age }) => ({ change: number, atMs: ago(age) }));
  const history = { recommendations: recommendations.map(({ number, age }) => ({ replicas: number, atMs: ago(age) })), ups: events(ups), downs: events(downs) };
  const { replicas, ableToScale, limited } = paced({ current, desired, min, max, behavior: behavior as HorizontalPodAutoscaler['spec']['behavior'], downscaleStabilizationMs: 300_000 }, history, nowMs);
  return { replicas, conditions: [`AbleToScale True ${ableToScale.reason}: ${ableToScale.message}`, `ScalingLimited ${limited.holds ? 'True' : 'False'} ${limited.reason}: ${limited.message}`] };
}

describe('the autoscaler of Kubernetes 1.32.2 comes to the same', () => {
  it('number of pods for what they use', () => {
    expect(recorded.replicas).toHaveLength(200);
    for (const one of recorded.replicas) expect({ given: one, result: replicasOf(one) }).toEqual({ given: one, result: one.result });
    // Of all ends that there are.
    const ends = new Set(recorded.replicas.map(({ result, current }) => result.error?.replace(/ for (cpu|memory) in container .*/, '') ?? Math.sign(result.replicas - current)));
    expect(ends).toEqual(new Set([-1, 0, 1, 'no pods returned by selector while calculating replica count', 'did not receive metrics for targeted pods (pods might be unready)', 'missing request']));
  });
  it('number of pods that may be now, and reasons for it', () => {
    expect(recorded.pace).toHaveLength(200);
    for (const { replicas, conditions, ...given } of recorded.pace) expect({ given, ...paceOf({ ...given, replicas, conditions }) }).toEqual({ given, replicas, conditions });
    expect(new Set(recorded.pace.flatMap(({ conditions }) => conditions.map((text) => text.split(':')[0])))).toEqual(new Set([
      'AbleToScale True ReadyForNewScale', 'AbleToScale True ScaleUpStabilized', 'AbleToScale True ScaleDownStabilized', 'ScalingLimited False DesiredWithinRange',
      'ScalingLimited True TooManyReplicas', 'ScalingLimited True TooFewReplicas', 'ScalingLimited True ScaleUpLimit', 'ScalingLimited True ScaleDownLimit',
    ]));
  });
});
