import { badRequest, invalid, type Cause } from '@roundsman/api';
import type { PipeRequest } from '@roundsman/bus';
import type { Query } from '../http/query.ts';

type LogPurpose = Extract<PipeRequest['purpose'], { kind: 'logs' }>;

/** Which part of a container's output, and how; all but the container. Throws a 400 for what is no number or time, a 422 for one that cannot be. */
export function logOptions(query: Query, now: number): Omit<LogPurpose, 'kind' | 'container'> {
  const causes: Cause[] = [];
  const wrong = (field: string, value: number, message: string): void => void causes.push({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${message}` });
  const tailLines = whole(query, 'tailLines');
  const limitBytes = whole(query, 'limitBytes');
  const sinceSeconds = whole(query, 'sinceSeconds');
  const sinceTime = query.text('sinceTime');
  if (tailLines !== undefined && tailLines < 0) wrong('tailLines', tailLines, 'must be greater than or equal to 0');
  if (limitBytes !== undefined && limitBytes < 1) wrong('limitBytes', limitBytes, 'must be greater than 0');
  if (sinceSeconds !== undefined && sinceTime !== undefined) causes.push({ field: '', reason: 'FieldValueForbidden', message: 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified' });
  else if (sinceSeconds !== undefined && sinceSeconds < 1) wrong('sinceSeconds', sinceSeconds, 'must be greater than 0');
  if (query.text('stream') !== undefined) causes.push({ field: 'stream', reason: 'FieldValueForbidden', message: 'Forbidden: may not be specified' });
  const sinceMs = sinceSeconds !== undefined ? now - sinceSeconds * 1000 : sinceTime === undefined ? undefined : instant(sinceTime);
  if (causes.length > 0) throw invalid({ kind: 'PodLogOptions', group: '', plural: '' }, '', causes);
  return {
    follow: query.flag('follow'),
    previous: query.flag('previous'),
    timestamps: query.flag('timestamps'),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
  };
}

function whole(query: Query, name: string): number | undefined {
  const value = query.text(name);
  if (value === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(value)) throw badRequest(`query parameter ${name} must be a whole number, not ${JSON.stringify(value.slice(0, 100))}`);
  return Number(value);
}

function instant(value: string): number {
  const ms = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms)) throw badRequest(`query parameter sinceTime must be a time such as 2026-01-31T12:00:00Z, not ${JSON.stringify(value.slice(0, 100))}`);
  return ms;
}
