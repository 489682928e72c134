import { expect, it } from '@jest/globals';
import { resolveIntOrString } from './int-or-string.ts';

it.each([
  [3, 10, true, 3], ['25%', 10, true, 3], ['25%', 10, false, 2], ['100%', 7, false, 7], ['0%', 7, true, 0], ['10%', 1, true, 1], ['10%', 1, false, 0],
])('%j of %d, rounded up: %s, is %d', (value, total, roundUp, expected) => expect(resolveIntOrString(value, total, roundUp)).toBe(expected));
it.each(['3', '', 'a%', '-5%', '5.5%'])('%j is no percentage', (value) => expect(() => resolveIntOrString(value, 10, true)).toThrow('is not a percentage'));
