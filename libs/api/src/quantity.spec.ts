import { describe, expect, it } from '@jest/globals';
import { assert, bigInt, constantFrom, double, integer, property, tuple } from 'fast-check';
import { canonicalQuantity, compareQuantities, formatQuantity, parseQuantity, quantityMillis } from './quantity.ts';

const suffixes = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
type Suffix = keyof typeof suffixes;
const suffix = constantFrom(...(Object.keys(suffixes) as Suffix[]));
const text = tuple(integer({ min: -9999, max: 9999 }), constantFrom('', '.5', '.25'), suffix).map(([whole, fraction, unit]) => `${whole}${fraction}${unit}`);

describe('canonical form', () => {
  it.each([
    ['0.5', '500m'], ['1000m', '1'], ['1', '1'], ['1024Mi', '1Gi'], ['1500Mi', '1500Mi'], ['1.5Gi', '1536Mi'], ['0.5Mi', '512Ki'], ['1000', '1k'], ['1024', '1024'], ['1e3', '1e3'], ['12E6', '12e6'],
    ['1E', '1E'], ['0', '0'], ['0Mi', '0'], ['-1500m', '-1500m'], ['+5', '5'], ['.5', '500m'], ['5.', '5'], ['0.0001', '1m'], ['123456789n', '124m'], ['-1n', '-1m'], ['100E', '100E'], ['1.5Ki', '1536'], ['100Ki', '100Ki'], ['1536000', '1536k'], ['1e-3', '1e-3'],
    ['0.0000000001', '1m'], ['9223372036854775807', '9223372036854775807'],
  ])('%s is stored as %s', (given, stored) => expect(canonicalQuantity(given)).toBe(stored));
  it.each(['', 'a', '1x', '1KiB', '1 Gi', '--1', '1e', '1.2.3', '.', 'Ki', '0x10', 'NaN', '1e999999'])('%j is no quantity', (given) => {
    expect(canonicalQuantity(given)).toBeUndefined();
    expect(() => parseQuantity(given)).toThrow('quantities must match the regular expression');
  });
  it('takes numbers', () => {
    expect(canonicalQuantity(0.5)).toBe('500m');
    expect(canonicalQuantity(2)).toBe('2');
    expect(canonicalQuantity(Number.NaN)).toBeUndefined();
  });
  it('is its own canonical form, and the same amount to the thousandth', () => {
    assert(
      property(text, (given) => {
        const canonical = canonicalQuantity(given)!;
        expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(quantityMillis(canonical)).toBe(quantityMillis(given));
      }),
    );
  });
});

describe('amounts', () => {
  it('mean their number times their suffix', () => {
    assert(
      property(integer({ min: -99999, max: 99999 }), suffix, (count, unit) => {
        const amount = count * suffixes[unit];
        expect(Math.abs(parseQuantity(`${count}${unit}`) - amount)).toBeLessThanOrEqual(Math.abs(amount) * 1e-12);
      }),
    );
  });
  it('are ordered as their numbers are, exactly', () => {
    assert(property(bigInt({ min: 0n, max: 2n ** 62n }), bigInt({ min: 0n, max: 2n ** 62n }), (a, b) => expect(compareQuantities(String(a), String(b))).toBe(a < b ? -1 : a > b ? 1 : 0)));
    expect(compareQuantities('1Gi', '1024Mi')).toBe(0);
    expect(compareQuantities('999m', '1')).toBeLessThan(0);
  });
  it('in thousandths are rounded up, away from nothing', () => {
    expect([quantityMillis('100m'), quantityMillis('1'), quantityMillis('1500u'), quantityMillis('1n'), quantityMillis(0.25), quantityMillis('-1n')]).toEqual([100, 1000, 2, 1, 250, -1]);
  });
  it('written and read again are the same', () => {
    assert(property(integer({ min: -(2 ** 53), max: 2 ** 53 }), constantFrom('BinarySI' as const, 'DecimalSI' as const), (value, as) => expect(parseQuantity(formatQuantity(value, as))).toBe(value)));
    assert(property(double({ min: 0, max: 1e6, noNaN: true }), (value) => expect(parseQuantity(formatQuantity(value))).toBeCloseTo(value, 8)));
  });
  it('are written with the largest suffix that leaves them whole', () => {
    expect([formatQuantity(1073741824, 'BinarySI'), formatQuantity(0.25), formatQuantity(2000), formatQuantity(1000, 'BinarySI'), formatQuantity(0)]).toEqual(['1Gi', '250m', '2k', '1k', '0']);
    expect(() => formatQuantity(Number.NaN)).toThrow('is no amount');
  });
});
