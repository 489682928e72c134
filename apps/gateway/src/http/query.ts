import { ApiError, badRequest, invalid, type Cause, type FieldValidation } from '@roundsman/api';

/** Reads query parameters; each refusal names the parameter. */
export class Query {
  readonly #params: URLSearchParams;

  constructor(params: URLSearchParams) {
    this.#params = params;
  }

  text(name: string): string | undefined {
    const value = this.#params.get(name);
    return value === null || value === '' ? undefined : value;
  }

  /** `true` or `1`; absent means false. */
  flag(name: string): boolean {
    const value = this.#params.get(name);
    if (value === null || value === 'false' || value === '0') return false;
    if (value === 'true' || value === '1') return true;
    throw badRequest(`query parameter ${name} must be true or false, not ${JSON.stringify(value)}`);
  }

  /** A whole number from 0, of at most nine digits. */
  count(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,9}$/.test(value)) throw badRequest(`query parameter ${name} must be a whole number from 0 to 999999999, not ${JSON.stringify(value)}`);
    return Number(value);
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!(allowed as readonly string[]).includes(value)) throw badRequest(`query parameter ${name} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
    return value as T;
  }

  all(name: string): string[] {
    return this.#params.getAll(name);
  }
}

export interface ListOptions {
  readonly limit: number | undefined;
  readonly continue: string | undefined;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Undefined: not given. 0: any. */
  readonly resourceVersion: number | undefined;
  readonly resourceVersionMatch: 'Exact' | 'NotOlderThan' | undefined;
}

export function listOptions(query: Query): ListOptions {
  const options: ListOptions = {
    limit: query.count('limit') || undefined,
    continue: query.text('continue'),
    labelSelector: query.text('labelSelector') ?? '',
    fieldSelector: query.text('fieldSelector') ?? '',
    resourceVersion: versionOption(query),
    resourceVersionMatch: query.oneOf('resourceVersionMatch', ['Exact', 'NotOlderThan']),
  };
  if (options.resourceVersionMatch !== undefined && options.resourceVersion === undefined) throw optionError('resourceVersionMatch', 'is forbidden unless resourceVersion is provided');
  return options;
}

export interface WatchOptions {
  readonly bookmarks: boolean;
  readonly initialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

export const watchOptions = (query: Query): WatchOptions => ({
  bookmarks: query.flag('allowWatchBookmarks'),
  initialEvents: query.text('sendInitialEvents') === undefined ? undefined : query.flag('sendInitialEvents'),
  timeoutSeconds: query.count('timeoutSeconds') || undefined,
});

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly fieldManager: string | undefined;
  readonly force: boolean | undefined;
}

export function writeOptions(query: Query): WriteOptions {
  const fieldManager = query.text('fieldManager');
  if (fieldManager !== undefined && (fieldManager.length > 128 || !/^[\x20-\x7e]*$/.test(fieldManager))) throw optionError('fieldManager', 'must be at most 128 printable characters');
  return {
    dryRun: dryRunOption(query.all('dryRun')),
    fieldValidation: query.oneOf('fieldValidation', ['Strict', 'Warn', 'Ignore']) ?? 'Warn',
    fieldManager,
    force: query.text('force') === undefined ? undefined : query.flag('force'),
  };
}

export function dryRunOption(values: readonly unknown[]): boolean {
  const given = values.filter((value) => value !== '');
  const wrong = given.find((value) => value !== 'All');
  if (wrong !== undefined) throw optionError('dryRun', `Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`);
  return given.length > 0;
}

function versionOption(query: Query): number | undefined {
  const value = query.text('resourceVersion');
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw optionError('resourceVersion', `Invalid value: ${JSON.stringify(value)}: must be a whole number from 0`);
  return Number(value);
}

/** 422 about a parameter, as Kubernetes answers wrong options. */
export function optionError(field: string, message: string): ApiError {
  const cause: Cause = { field, reason: 'FieldValueInvalid', message };
  return invalid({ kind: 'Options', group: 'meta.k8s.io', plural: '' }, '', [cause]);
}
