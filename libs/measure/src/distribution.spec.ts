import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { distributionSchema } from '@roundsman/api';
import { DistributionCollector, percentiles } from './distribution.ts';

function collected(values: number[]): DistributionCollector {
  const collector = new DistributionCollector();
  for (const value of values) collector.add(value);
  return collector;
}

const values = fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 200 });

describe('DistributionCollector', () => {
  it('keeps count, sum, minimum and maximum exactly, also over merges', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const merged = collected(a);
        merged.merge(collected(b).toData());
        const data = distributionSchema.parse(merged.toData());
        const all = [...a, ...b];
        expect(data).toEqual(collected(all).toData());
        expect(data.count).toBe(all.length);
        expect(data.sumUs).toBe(all.reduce((sum, v) => sum + v, 0));
        expect(data.minUs).toBe(all.length === 0 ? 0 : Math.min(...all));
        expect(data.maxUs).toBe(all.length === 0 ? 0 : Math.max(...all));
      }),
    );
  });

  it('never tells a quantile outside of what was measured', () => {
    expect(collected([1000]).quantile(0.99)).toBe(1000);
    expect(collected([0, 0]).quantile(0.5)).toBe(0);
    expect(collected([-3]).minUs).toBe(0);
  });

  it('gives the usual percentiles', () => {
    const data = collected(Array.from({ length: 1000 }, (_, i) => i + 1)).toData();
    const p = percentiles(data);
    for (const [got, exact] of [[p.p50Us, 500], [p.p90Us, 900], [p.p95Us, 950], [p.p99Us, 990]] as const) expect(Math.abs(got! - exact)).toBeLessThanOrEqual(exact * 0.011);
    expect(p.meanUs).toBe(500.5);
    expect(percentiles(new DistributionCollector().toData())).toEqual({});
  });
});
