import { badRequest, typed } from '@roundsman/api';
import { isObject, type Json, type JsonObject } from '../patch/lists.ts';
import type { Target } from './target.ts';

/** A body as an object of this kind in this namespace; what the path says may be left out of it, but not contradicted. */
export function objectOf({ kind, stored }: Target['served'], namespace: string | undefined, body: unknown): JsonObject {
  if (!isObject(body)) throw badRequest(`the body must be one ${kind.kind} object`);
  for (const member of ['apiVersion', 'kind']) if (body[member] === null) throw badRequest(`${member} must be text, not null; it may be left out`);
  const object = typed(kind, body) as JsonObject;
  const { metadata = {} } = object;
  if (!isObject(metadata)) throw badRequest('metadata must be an object');
  for (const member of ['name', 'generateName', 'namespace', 'uid', 'resourceVersion'] as const) {
    const value = metadata[member];
    if (value !== undefined && typeof value !== 'string') throw badRequest(`metadata.${member} must be text, not ${JSON.stringify(value).slice(0, 100)}`);
  }
  object['metadata'] = { ...metadata };
  const given = metadata['namespace'];
  if (kind.namespaced) {
    if (given !== undefined && given !== null && given !== '' && given !== namespace) {
      throw badRequest(`the namespace of the provided object does not match the namespace sent on the request (${JSON.stringify(given)} is not ${JSON.stringify(namespace)})`);
    }
    object['metadata']['namespace'] = namespace as string;
  } else if (!stored.view && given) throw badRequest(`${kind.kind} objects have no namespace; the body says ${JSON.stringify(given)}`);
  return object;
}

/** A write through `/status` changes only the status, any other all but the status. */
export function confined(next: JsonObject, live: JsonObject | undefined, { served, subresource }: Target): JsonObject {
  if (subresource === 'status') {
    const { resourceVersion } = next['metadata'] as JsonObject;
    const metadata = { ...(live?.['metadata'] as JsonObject | undefined), ...(live ? {} : (next['metadata'] as JsonObject)) };
    if (resourceVersion !== undefined) metadata['resourceVersion'] = resourceVersion;
    const { status: _, ...rest } = live ?? { apiVersion: next['apiVersion'] as Json, kind: next['kind'] as Json };
    return { ...rest, metadata, ...(next['status'] === undefined ? {} : { status: next['status'] }) };
  }
  if (!served.kind.hasStatus) return next;
  const { status: _, ...rest } = next;
  return live?.['status'] === undefined ? rest : { ...rest, status: live['status'] };
}

export function checkName(object: JsonObject, name: string): void {
  const metadata = object['metadata'] as JsonObject;
  const given = metadata['name'];
  if (given === undefined || given === null || given === '') metadata['name'] = name;
  else if (given !== name) throw badRequest(`the name of the object (${typeof given === 'string' ? given : JSON.stringify(given)}) does not match the name on the URL (${name})`);
}
