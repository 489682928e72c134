import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { countOf, firstMissing, formatIndexes, hasIndex, overlap, parseIndexes, union, withIndexes } from './index-set.ts';

const indexes = fc.uniqueArray(fc.integer({ min: 0, max: 30 }));
const setOf = (list: readonly number[]) => withIndexes([], list);

describe('a set of completion indexes', () => {
  it('is written as Kubernetes writes it', () => {
    expect(formatIndexes(setOf([7, 1, 4, 3, 5]))).toBe('1,3-5,7');
    expect(formatIndexes(setOf([0, 1]))).toBe('0,1');
    expect(formatIndexes([])).toBe('');
    expect(parseIndexes('1,3-5,7', 6)).toEqual([[1, 1], [3, 5]]);
    expect(parseIndexes('x,2-1,,3', 10)).toEqual([[3, 3]]);
    expect(parseIndexes('0-99999999999', 4)).toEqual([[0, 3]]);
  });

  it('does what sets do', () => {
    fc.assert(
      fc.property(indexes, indexes, fc.integer({ min: 0, max: 12 }), (a, b, count) => {
        const [left, right] = [setOf(a), setOf(b)];
        const both = new Set([...a, ...b]);
        expect(parseIndexes(formatIndexes(left), 31)).toEqual(left);
        expect(countOf(union(left, right))).toBe(both.size);
        expect(overlap(left, right)).toBe(a.filter((one) => b.includes(one)).length);
        for (let index = 0; index <= 31; index++) expect(hasIndex(left, index)).toBe(a.includes(index));
        expect(firstMissing(left, count, 31)).toEqual(Array.from({ length: 31 }, (_, index) => index).filter((index) => !a.includes(index)).slice(0, count));
      }),
    );
  });
});
