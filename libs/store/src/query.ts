import { badRequest, type FieldRequirement, type LabelRequirement } from '@roundsman/api';

/** Which objects of a resource, and how many of them at a time. */
export interface ListQuery {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labels?: readonly LabelRequirement[] | undefined;
  readonly fields?: readonly FieldRequirement[] | undefined;
  /** Absent: all. */
  readonly limit?: number | undefined;
  /** What the page before returned. */
  readonly continue?: string | undefined;
}

/** Where the next page starts: after this object, of a list that was begun at this version. */
export interface Cursor {
  readonly version: number;
  readonly namespace: string;
  readonly name: string;
}

export const cursorText = ({ version, namespace, name }: Cursor): string => Buffer.from(JSON.stringify([version, namespace, name])).toString('base64url');

/** Throws a 400 for a token that was not made by `cursorText`. */
export function cursorOf(text: string): Cursor {
  try {
    const [version, namespace, name] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(version) && typeof namespace === 'string' && typeof name === 'string') return { version: version as number, namespace, name };
  } catch {
    // Falls through to the one message for all of them.
  }
  throw badRequest('continue key is not valid');
}

/** The where-clause for a query, with its parameters. */
export function conditions(resource: string, query: ListQuery, cursor: Cursor | undefined): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const parts = [`resource = ${parameter(resource)}`];
  if (query.namespace !== undefined) parts.push(`namespace = ${parameter(query.namespace)}`);
  if (cursor !== undefined) parts.push(`(namespace, name) > (${parameter(cursor.namespace)}, ${parameter(cursor.name)})`);
  for (const { key, operator, values } of query.labels ?? []) {
    const label = `body #>> ${parameter(['metadata', 'labels', key])}::text[]`;
    if (operator === 'exists') parts.push(`${label} is not null`);
    else if (operator === 'absent') parts.push(`${label} is null`);
    else if (operator === 'in') parts.push(`${label} = any(${parameter(values)}::text[])`);
    else parts.push(`coalesce(${label} <> all(${parameter(values)}::text[]), true)`);
  }
  for (const { path, equal, value } of query.fields ?? []) {
    // As matchesFields has it: an absent flag is false, anything else that is absent is empty.
    const absent = value === 'true' || value === 'false' ? 'false' : '';
    const column = { 'metadata.name': 'name', 'metadata.namespace': 'namespace' }[path] ?? `coalesce(body #>> ${parameter(path.split('.'))}::text[], '${absent}')`;
    parts.push(`${column} ${equal ? '=' : '<>'} ${parameter(value)}`);
  }
  return { sql: parts.join(' and '), parameters };
}
