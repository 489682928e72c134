import { badRequest, invalid } from '../errors.ts';
import { apiVersionOf, type Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { causesOf } from './causes.ts';
import { dropEmpties } from './empties.ts';
import { unknownFields } from './unknown-fields.ts';

/** `Strict` refuses unknown fields, `Warn` names them and drops them, `Ignore` drops them. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Which kind an object was sent for: a stored kind or a view of one. */
type Shape = Pick<Kind, 'group' | 'version' | 'kind' | 'schema' | 'confidential' | 'complete' | 'emptyIsAbsent'>;

/** Checks that a body says it is of this kind (either may be left out, the path tells it); returns it with both set. */
export function typed(kind: Shape, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const apiVersion = apiVersionOf(kind);
  const given = { apiVersion: input['apiVersion'] ?? apiVersion, kind: input['kind'] ?? kind.kind };
  const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : JSON.stringify(value).slice(0, 200));
  if (given.apiVersion !== apiVersion) throw badRequest(`the API version in the data (${shown(given.apiVersion)}) does not match the expected API version (${apiVersion})`);
  if (given.kind !== kind.kind) throw badRequest(`the kind in the data (${shown(given.kind)}) does not match the expected kind (${kind.kind})`);
  return { ...input, ...given };
}

/**
 * Reads an object of a kind: unknown fields as `fieldValidation` says (400 for Strict), then the schema, which fills in
 * defaults (422 with a cause per field). Nulls where the schema takes them mean absent.
 */
export function decode(kind: Shape, input: Readonly<Record<string, unknown>>, fieldValidation: FieldValidation): { object: KubeObject; warnings: string[] } {
  const value = typed(kind, input);
  const warnings = unknownFieldWarnings(kind, value, fieldValidation);
  if (kind.emptyIsAbsent === true) {
    for (const member of Object.keys(value)) if (member !== 'metadata') value[member] = withoutNulls(value[member]);
    // No spec is an empty one: what is required of it is missing then.
    value['spec'] ??= {};
  }
  const parsed = kind.schema.safeParse(value);
  if (!parsed.success) throw invalid({ ...kind, plural: '' }, nameOf(value), causesOf(parsed.error, value, kind.confidential));
  const object = parsed.data as KubeObject;
  if (kind.emptyIsAbsent === true) dropEmpties(kind.schema, object);
  dropNulls(object as unknown as Record<string, unknown>);
  dropNulls(object.metadata as unknown as Record<string, unknown>);
  kind.complete?.(object);
  return { object, warnings };
}

/** What is told of fields that the kind does not know: nothing for Ignore; throws a 400 for Strict. */
export function unknownFieldWarnings(kind: Pick<Shape, 'kind' | 'version' | 'schema'>, value: unknown, fieldValidation: FieldValidation): string[] {
  const unknown = fieldValidation === 'Ignore' ? [] : unknownFields(kind.schema, value).map((path) => `unknown field "${path}"`);
  if (unknown.length === 0 || fieldValidation !== 'Strict') return unknown;
  throw badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: strict decoding error: ${unknown.join(', ')}`);
}

/** The same without members that are null; itself when there are none. Nulls in lists are left for the schema to refuse. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object') return value;
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    let items: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      const kept = item === null ? item : withoutNulls(item);
      if (kept !== item) (items ??= value.slice())[index] = kept;
    }
    return items ?? value;
  }
  let members: Record<string, unknown> | undefined;
  for (const [key, member] of Object.entries(value)) {
    const kept = withoutNulls(member);
    if (kept === member) continue;
    members ??= { ...value };
    if (kept === undefined) delete members[key];
    else members[key] = kept;
  }
  return members ?? value;
}

function nameOf(value: Record<string, unknown>): string {
  const name = (value['metadata'] as { name?: unknown } | undefined)?.name;
  return typeof name === 'string' ? name : '';
}

function dropNulls(members: Record<string, unknown>): void {
  for (const key of Object.keys(members)) if (members[key] === null) delete members[key];
}
