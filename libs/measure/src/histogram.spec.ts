import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histogramSchema } from '@roundsman/api';
import { bucketOf, gamma, Histogram, maxBucket, valueOf } from './histogram.ts';

const latencies = fc.array(fc.double({ min: 1, max: 1e12, noNaN: true }), { minLength: 1, maxLength: 300 });

function filled(values: number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  return histogram;
}

describe('Histogram', () => {
  it('puts a value into the bucket that the wire format names', () => {
    for (const us of [1.5, 2, 10, 999, 1000, 123_456, 5e6, 3.6e9]) expect(bucketOf(us)).toBe(Math.ceil(Math.log(us) / Math.log(gamma)));
    for (const us of [0, 0.3, 1, -5, Number.NaN]) expect(bucketOf(us)).toBe(0);
    expect(bucketOf(Number.MAX_VALUE)).toBe(maxBucket);
  });

  it('represents every value within 1 %', () => {
    fc.assert(fc.property(fc.double({ min: 1, max: 1e15, noNaN: true }), (us) => Math.abs(valueOf(bucketOf(us)) - us) <= us * 0.01 * (1 + 1e-6)));
  });

  it('tells every quantile within 1 % of the true one', () => {
    fc.assert(
      fc.property(latencies, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(q * values.length)) - 1]!;
        expect(Math.abs(filled(values).quantile(q)! - exact)).toBeLessThanOrEqual(exact * 0.01 * (1 + 1e-6));
      }),
    );
  });

  it('merges to what adding all the values gives, from objects and from data', () => {
    fc.assert(
      fc.property(latencies, latencies, (a, b) => {
        const all = filled([...a, ...b]).toData();
        const merged = filled(a);
        merged.merge(filled(b));
        expect(merged.toData()).toEqual(all);
        const fromData = Histogram.fromData(filled(a).toData());
        fromData.merge(filled(b).toData());
        expect(fromData.toData()).toEqual(all);
        expect(fromData.total).toBe(a.length + b.length);
      }),
    );
  });

  it('survives the wire', () => {
    fc.assert(
      fc.property(latencies, (values) => {
        const data = filled(values).toData();
        const back = histogramSchema.parse(JSON.parse(JSON.stringify(data)));
        expect(Histogram.fromData(back).toData()).toEqual(data);
        expect([...data.b].sort((x, y) => x - y)).toEqual(data.b);
      }),
    );
  });

  it('has no quantile when empty and refuses data that does not fit together', () => {
    expect(new Histogram().quantile(0.5)).toBeUndefined();
    expect(() => new Histogram().merge({ b: [1, 2], c: [1] })).toThrow('2 buckets but 1 counts');
  });
});
