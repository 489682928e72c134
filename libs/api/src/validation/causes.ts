import type { z } from 'zod';
import { valueAt } from '../columns.ts';
import type { Cause } from '../kind.ts';
import { invalidValue, notSupported, required, wrongType } from '../rules/causes.ts';
import { memberPath } from './unknown-fields.ts';

type Issue = z.core.$ZodIssue;

/** What a schema has against `value`, one cause per field, in Kubernetes' words. Values of `confidential` members are masked. */
export function causesOf(error: z.ZodError, value: unknown, confidential: readonly string[] = []): Cause[] {
  return error.issues.flatMap((issue) => causesOfIssue(issue, value, confidential));
}

function causesOfIssue(issue: Issue, root: unknown, confidential: readonly string[]): Cause[] {
  const steps = issue.path as (string | number)[];
  const field = steps.reduce<string>(memberPath, '');
  const found = valueAt(root, ...steps);
  const value = found !== undefined && confidential.includes(String(steps[0])) ? '***' : found;
  if (value === undefined && issue.code !== 'unrecognized_keys') return [required(field, '')];
  switch (issue.code) {
    case 'invalid_type':
      if (steps.at(-1) === 'hostPath' && typeof value === 'string') return [flattenedHostPath(field, value)];
      return [wrongType(field, value, typeNames[issue.expected] ?? issue.expected)];
    case 'invalid_value':
      return [notSupported(field, value, issue.values as unknown[])];
    case 'too_small':
      return [invalidValue(field, value, bound(issue.origin, 'greater than', 'at least', Number(issue.minimum), issue.inclusive))];
    case 'too_big':
      return [invalidValue(field, value, bound(issue.origin, 'less than', 'at most', Number(issue.maximum), issue.inclusive))];
    case 'invalid_format':
      return [invalidValue(field, value, formatText(issue.format))];
    case 'invalid_union':
      return [wrongType(field, value, unionTypes(issue))];
    case 'invalid_key':
      return [invalidValue(field, steps.at(-1), 'is not an allowed key')];
    default:
      return [invalidValue(field, value, issue.message)];
  }
}

/** The short spelling of small clusters; people who know it are shown the right one. */
function flattenedHostPath(field: string, path: string): Cause {
  const { message, ...cause } = wrongType(field, path, 'object');
  return { ...cause, message: `${message}; write it as hostPath: {path: ${JSON.stringify(path)}}` };
}

const typeNames: Record<string, string> = { int: 'integer', record: 'object' };

function bound(origin: string, compared: string, counted: string, limit: number, inclusive: boolean | undefined): string {
  if (origin === 'string') return limit === 1 && counted === 'at least' ? 'must not be empty' : `should be ${counted} ${limit} characters long`;
  if (origin === 'array') return `must have ${counted} ${limit} items`;
  // Kubernetes never says "greater than 0" of whole numbers.
  const whole = inclusive === false && compared === 'greater than' && Number.isInteger(limit);
  if (whole) return `must be greater than or equal to ${limit + 1}`;
  return `must be ${compared}${inclusive === false ? '' : ' or equal to'} ${limit}`;
}

const formatText = (format: string): string => (format === 'base64' ? 'must be base64' : `must be in the format ${format}`);

function unionTypes(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  const expected = issue.errors.flatMap((option) => option.map((one) => (one.code === 'invalid_type' ? (typeNames[one.expected] ?? one.expected) : '')));
  const names = [...new Set(expected.filter((name) => name !== ''))];
  return names.length > 0 ? names.join(' or ') : 'one of the allowed forms';
}
