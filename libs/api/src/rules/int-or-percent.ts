import type { Cause } from '../kind.ts';
import { invalidValue, nonNegative } from './causes.ts';
import { goIntOrString } from './go-syntax.ts';

const percentOf = (value: number | string): number | undefined => (typeof value === 'string' && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : undefined);

/** Whether it comes to nothing, whatever it is a share of. */
export const isNone = (value: number | string): boolean => (percentOf(value) ?? Number(value)) === 0;

/** A count or a percentage. */
export function countCauses(field: string, value: number | string): Cause[] {
  if (typeof value === 'number') return nonNegative(field, value);
  if (percentOf(value) !== undefined) return [];
  return [invalidValue(field, goIntOrString(value), "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')")];
}

export const atMostAll = (field: string, value: number | string): Cause[] => ((percentOf(value) ?? 0) > 100 ? [invalidValue(field, goIntOrString(value), 'must not be greater than 100%')] : []);
