import { describe, expect, it } from '@jest/globals';
import type { ScalingBehavior, ScalingRules } from '@roundsman/api';
import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { firstHistory, scaled, type History } from './history.ts';
import { paced, type Wish } from './paced.ts';

const stepMs = 5_000;
const policy = record({ type: constantFrom('Pods', 'Percent'), value: integer({ min: 1, max: 120 }), periodSeconds: constantFrom(5, 15, 60) });
const rules = record({ selectPolicy: constantFrom('Max', 'Min'), stabilizationWindowSeconds: constantFrom(0, 15, 60), policies: array(policy, { minLength: 1, maxLength: 3 }) });
const desires = array(integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 60 });

interface Moment {
  readonly atMs: number;
  readonly desired: number;
  readonly replicas: number;
}

/** The numbers of pods when metrics ask for these, a look every five seconds. */
function lived(behavior: ScalingBehavior | undefined, asked: readonly number[], { min = 2, max = 40, first = 10 } = {}): Moment[] {
  let current = first;
  let history: History = firstHistory(current, 0);
  return asked.map((desired, index) => {
    const atMs = index * stepMs;
    const wish: Wish = { current, desired, min, max, behavior, downscaleStabilizationMs: 20_000 };
    const { replicas, history: next } = paced(wish, history, atMs);
    history = replicas === current ? next : scaled(next, current, replicas, atMs);
    current = replicas;
    return { atMs, desired, replicas };
  });
}

describe('the pace of an autoscaler', () => {
  it('never leaves the bounds, and moves no further than is asked for', () =>
    assert(property(rules, rules, desires, (scaleUp, scaleDown, asked) => {
      let before = 10;
      for (const { desired, replicas } of lived({ scaleUp, scaleDown }, asked)) {
        expect(replicas).toBeGreaterThanOrEqual(2);
        expect(replicas).toBeLessThanOrEqual(40);
        if (replicas > before) expect(replicas).toBeLessThanOrEqual(desired);
        if (replicas < before) expect(replicas).toBeGreaterThanOrEqual(Math.min(2, desired));
        before = replicas;
      }
    })));

  it('adds no more pods in a period than its policy has', () =>
    assert(property(integer({ min: 1, max: 5 }), constantFrom(15, 60), desires, (value, periodSeconds, asked) => {
      const scaleUp: ScalingRules = { policies: [{ type: 'Pods', value, periodSeconds }] };
      const moments = lived({ scaleUp, scaleDown: { selectPolicy: 'Disabled' } }, asked);
      moments.forEach(({ atMs, replicas }) => {
        const atStart = moments.findLast((one) => one.atMs <= atMs - periodSeconds * 1000)?.replicas ?? 10;
        expect(replicas - atStart).toBeLessThanOrEqual(value);
      });
    })));

  it('takes no pods away that a recommendation of the window asked for', () =>
    assert(property(desires, constantFrom<ScalingBehavior | undefined>(undefined, { scaleUp: { policies: [{ type: 'Pods', value: 100, periodSeconds: 5 }] }, scaleDown: { policies: [{ type: 'Percent', value: 100, periodSeconds: 5 }] } }), (asked, behavior) => {
      const moments = lived(behavior, asked);
      let before = 10;
      for (const { atMs, replicas } of moments) {
        const recent = moments.filter((one) => one.atMs <= atMs && one.atMs > atMs - 20_000).map(({ desired }) => desired);
        if (replicas < before) expect(replicas).toBeGreaterThanOrEqual(Math.min(Math.max(2, ...recent), 40));
        before = replicas;
      }
    })));

  it('does not move where it is disabled', () =>
    assert(property(desires, (asked) => {
      const disabled: ScalingRules = { selectPolicy: 'Disabled', policies: [{ type: 'Pods', value: 9, periodSeconds: 5 }] };
      for (const { replicas } of lived({ scaleUp: disabled, scaleDown: disabled }, asked)) expect(replicas).toBe(10);
    })));

  it('remembers no more than it may look back on', () => {
    let history = firstHistory(1, 0);
    for (let index = 0; index < 2_000; index++) {
      const wish: Wish = { current: 1, desired: 1, min: 1, max: 2, behavior: undefined, downscaleStabilizationMs: 300_000 };
      history = scaled(paced(wish, history, index * 15_000).history, 1, 2, index * 15_000);
    }
    expect(history.recommendations.length).toBeLessThanOrEqual(242);
    expect(history.ups.length).toBeLessThanOrEqual(122);
  });
});
