import type { Cause } from '../kind.ts';

/** What a rule returns: `causes` refuse the write, `warnings` are told beside its success. */
export interface Findings {
  readonly causes: Cause[];
  readonly warnings: string[];
}
export const findings = (): Findings => ({ causes: [], warnings: [] });

/** A value that stands in an error message exactly so. */
export class Verbatim {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A value as it stands in an error message: strings quoted, at most 200 characters. */
export function shown(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}

export const invalidValue = (field: string, value: unknown, why: string): Cause => ({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${shown(value)}: ${why}` });
export const required = (field: string, why: string): Cause => ({ field, reason: 'FieldValueRequired', message: why === '' ? 'Required value' : `Required value: ${why}` });
export const forbiddenField = (field: string, why: string): Cause => ({ field, reason: 'FieldValueForbidden', message: `Forbidden: ${why}` });
export const tooLong = (field: string, limit: number): Cause => ({ field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${limit} bytes` });
export const tooMany = (field: string, count: number, limit: number): Cause => ({ field, reason: 'FieldValueTooMany', message: `Too many: ${count}: must have at most ${limit} items` });
export const notSupported = (field: string, value: unknown, supported: readonly unknown[]): Cause => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((one) => JSON.stringify(one)).join(', ')}`,
});
export const duplicate = (field: string, value: unknown): Cause => ({ field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${shown(value)}` });
export const wrongType = (field: string, value: unknown, expected: string): Cause => ({
  field,
  reason: 'FieldValueTypeInvalid',
  message: `Invalid value: ${shown(value)}: must be of type ${expected}`,
});
export const notFoundValue = (field: string, value: unknown): Cause => ({ field, reason: 'FieldValueNotFound', message: `Not found: ${shown(value)}` });

/** Nothing, or that a number is below zero. */
export const nonNegative = (field: string, value: number | undefined): Cause[] => (value !== undefined && value < 0 ? [invalidValue(field, value, 'must be greater than or equal to 0')] : []);
/** Nothing, or that a number is outside of its range. */
export const inRange = (field: string, value: number | undefined, lowest: number, highest: number): Cause[] =>
  value !== undefined && (value < lowest || value > highest) ? [invalidValue(field, value, `must be between ${lowest} and ${highest}, inclusive`)] : [];
/** Nothing, or what a check of names has against this one. */
export const named = (field: string, value: string, problem: string | undefined): Cause[] => (problem === undefined ? [] : [invalidValue(field, value, problem)]);
