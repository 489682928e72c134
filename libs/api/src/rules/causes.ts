import type { Cause } from '../kind.ts';

/** What a rule returns: `causes` refuse the write, `warnings` are told beside its success. */
export interface Findings {
  readonly causes: Cause[];
  readonly warnings: string[];
}
export const findings = (): Findings => ({ causes: [], warnings: [] });

/** A value as it stands in an error message: strings quoted, at most 200 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}

export const invalidValue = (field: string, value: unknown, why: string): Cause => ({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${shown(value)}: ${why}` });
export const required = (field: string, why: string): Cause => ({ field, reason: 'FieldValueRequired', message: why === '' ? 'Required value' : `Required value: ${why}` });
export const forbiddenField = (field: string, why: string): Cause => ({ field, reason: 'FieldValueForbidden', message: `Forbidden: ${why}` });
export const tooLong = (field: string, limit: number): Cause => ({ field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${limit} bytes` });
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
