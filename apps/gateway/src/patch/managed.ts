import { isDeepStrictEqual } from 'node:util';
import { badRequest } from '@roundsman/api';
import { z } from 'zod';
import { fieldsOf, fieldsV1Of, fromFieldsV1, stepsOf, toFieldsV1, union, valueAt, type FieldSet } from './fields.ts';
import { isObject, type JsonObject } from './lists.ts';

/** One entry of `metadata.managedFields`, its fields as a set. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
  /** RFC 3339, when the entry last changed. */
  time?: string;
  fields: FieldSet;
}

/** Who writes, and through which part of the object. */
export interface Writer {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const entrySchema = z.object({
  manager: z.string().max(128).default('unknown'),
  operation: z.enum(['Apply', 'Update']),
  apiVersion: z.string(),
  subresource: z.string().optional(),
  time: z.string().optional(),
  fieldsType: z.literal('FieldsV1').optional(),
  fieldsV1: z.record(z.string(), z.unknown()).default({}),
});

/** Update entries kept; the oldest are folded into one, as Kubernetes does. */
const maxUpdaters = 10;

export function managersOf(object: JsonObject | undefined): Manager[] {
  const metadata = object?.['metadata'];
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined;
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) throw badRequest('metadata.managedFields must be a list');
  // `[{}]` is how a client asks to forget all managers.
  return entries.filter((entry) => !isObject(entry) || Object.keys(entry).length > 0).map((entry) => {
    const parsed = entrySchema.safeParse(entry);
    if (!parsed.success) throw badRequest(`metadata.managedFields: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
    const { fieldsV1, fieldsType: _, subresource, time, ...rest } = parsed.data;
    return { ...rest, ...(subresource ? { subresource } : {}), ...(time ? { time } : {}), fields: fromFieldsV1(fieldsV1) };
  });
}

export function setManagers(object: JsonObject, managers: readonly Manager[]): void {
  const kept = managers.filter(({ fields }) => fields.size > 0).sort(inOrder);
  const metadata = object['metadata'] as JsonObject;
  if (kept.length === 0) delete metadata['managedFields'];
  else {
    metadata['managedFields'] = kept.map(({ fields, manager, operation, apiVersion, subresource, time }) => ({
      apiVersion,
      fieldsType: 'FieldsV1',
      fieldsV1: toFieldsV1(fields),
      manager,
      operation,
      ...(subresource === undefined ? {} : { subresource }),
      ...(time === undefined ? {} : { time }),
    }));
  }
}

/** As Kubernetes keeps them: those who apply first, then by time, then by name. */
function inOrder(a: Manager, b: Manager): number {
  const key = ({ operation, time, manager, apiVersion, subresource }: Manager): string => [operation, time ?? '', manager, apiVersion, subresource ?? ''].join('\n');
  return key(a) < key(b) ? -1 : 1;
}

export const isSame = (entry: Manager, writer: Writer, operation: Manager['operation']): boolean =>
  entry.manager === writer.manager && entry.operation === operation && entry.subresource === writer.subresource;

export const timeOf = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/**
 * Records a create, update or patch: whoever changed a field owns it and nobody else does; fields that are gone have no owner.
 * Sets `next.metadata.managedFields`.
 */
export function recordUpdate(live: JsonObject | undefined, next: JsonObject, writer: Writer): void {
  if (live === undefined) return recordCreate(next, writer);
  const stored = managersOf(live);
  const given = managersOf(next);
  const asked = isObject(next['metadata']) && next['metadata']['managedFields'] !== undefined;
  // A client that sends other entries than it read edits the ownership itself.
  const managers = asked ? given : stored;
  const before = fieldsOf(live);
  const after = fieldsOf(next);
  const changed = new Set([...after].filter((path) => !before.has(path) || !isDeepStrictEqual(valueAt(live, stepsOf(path)), valueAt(next, stepsOf(path)))));
  const mine = managers.find((entry) => isSame(entry, writer, 'Update'));
  for (const entry of managers) {
    // What an entry of another version owns may have no place in this one; it is there all the same.
    const isThere = (path: string): boolean => entry.apiVersion !== writer.apiVersion || after.has(path) || valueAt(next, stepsOf(path)) !== undefined;
    entry.fields = new Set([...entry.fields].filter((path) => (entry === mine || !changed.has(path)) && isThere(path)));
  }
  if (changed.size > 0) {
    const time = timeOf(writer.now);
    if (mine) {
      mine.fields = union(mine.fields, changed);
      mine.time = time;
    } else {
      const { manager, apiVersion, subresource } = writer;
      managers.push({ manager, operation: 'Update', apiVersion, ...(subresource === undefined ? {} : { subresource }), time, fields: changed });
    }
  }
  setManagers(next, folded(managers));
}

/** Whoever creates an object owns all of it, whatever it says of managers. */
function recordCreate(next: JsonObject, { manager, apiVersion, subresource, now }: Writer): void {
  managersOf(next);
  const fieldsV1 = fieldsV1Of(next);
  const metadata = next['metadata'] as JsonObject;
  const entry = { apiVersion, fieldsType: 'FieldsV1', fieldsV1, manager, operation: 'Update', ...(subresource === undefined ? {} : { subresource }), time: timeOf(now) };
  if (Object.keys(fieldsV1).length > 0) metadata['managedFields'] = [entry];
  else delete metadata['managedFields'];
}

function folded(managers: Manager[]): Manager[] {
  const updaters = managers.filter(({ operation, fields }) => operation === 'Update' && fields.size > 0).sort((a, b) => (a.time ?? '').localeCompare(b.time ?? ''));
  const old = updaters.slice(0, Math.max(0, updaters.length - maxUpdaters + 1));
  if (updaters.length <= maxUpdaters) return managers;
  const ancient = old.reduce((sum, { fields }) => union(sum, fields), new Set<string>());
  const last = old.at(-1) as Manager;
  return [...managers.filter((entry) => !old.includes(entry)), { ...last, manager: 'ancient-changes', fields: ancient }];
}
