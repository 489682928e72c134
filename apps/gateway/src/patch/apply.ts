import { isDeepStrictEqual } from 'node:util';
import { ApiError, badRequest, type StatusCause } from '@roundsman/api';
import { describePath, fieldsOf, removeAt, stepsOf, union, valueAt, type FieldSet, type Step } from './fields.ts';
import { appliedList, identityOf, isAppliedWhole, isObject, type Json, type JsonObject } from './lists.ts';
import { isSame, managersOf, setManagers, timeOf, type Manager, type Writer } from './managed.ts';

/**
 * Server-side apply: the manager owns exactly the fields it sends. Fields it owned before and no longer sends are removed,
 * unless others own them too; a field that another one owns with another value is a conflict (409 with a cause for each),
 * or taken over with `force`. Returns the new object with its `managedFields`; the arguments are left alone.
 */
export function applyConfiguration(live: JsonObject | undefined, configuration: JsonObject, writer: Writer & { readonly force: boolean }): JsonObject {
  refuseTwins(configuration, [], [], configuration);
  const managers = managersOf(live);
  const mine = managers.find((entry) => isSame(entry, writer, 'Apply'));
  const others = managers.filter((entry) => entry !== mine);
  const applied = fieldsOf(configuration);
  const conflicts = others.flatMap((entry) => conflictsWith(entry, applied, live, configuration));
  if (conflicts.length > 0 && !writer.force) throw conflictError(conflicts);
  for (const { entry, path } of conflicts) entry.fields.delete(path);

  const result = structuredClone(mergeApplied(live ?? {}, configuration, [])) as JsonObject;
  const elsewhere = others.reduce((sum, { fields }) => union(sum, fields), new Set<string>());
  // Short paths first: an item goes whole, while its key still tells which one it is.
  for (const path of [...(mine?.fields ?? [])].sort((a, b) => a.length - b.length)) {
    if (applied.has(path) || isOwned(path, elsewhere) || isOwned(path, applied)) continue;
    const steps = stepsOf(path);
    const value = valueAt(result, steps);
    // What was owned as an empty object has got members since: not ours.
    if ((steps.at(-1) as string).startsWith('f:') && isObject(value) && Object.keys(value).length > 0) continue;
    removeAt(result, steps);
  }
  const same = mine !== undefined && isDeepStrictEqual(mine.fields, applied);
  const { manager, apiVersion, subresource, now } = writer;
  const entry: Manager = { manager, operation: 'Apply', apiVersion, ...(subresource === undefined ? {} : { subresource }), time: same && mine.time !== undefined ? mine.time : timeOf(now), fields: applied };
  setManagers(result, [entry, ...others]);
  return result;
}

interface FieldConflict {
  readonly entry: Manager;
  readonly path: string;
}

function conflictsWith(entry: Manager, applied: FieldSet, live: JsonObject | undefined, configuration: JsonObject): FieldConflict[] {
  return [...entry.fields]
    .filter((path) => {
      if (!applied.has(path)) return false;
      const steps = stepsOf(path);
      // Owning that an item is there is no conflict; its members are looked at one by one.
      if (!(steps.at(-1) as string).startsWith('f:')) return false;
      return !isDeepStrictEqual(valueAt(live, steps), valueAt(configuration, steps));
    })
    .map((path) => ({ entry, path }));
}

/** As Kubernetes words it; kubectl prints the causes. */
function conflictError(conflicts: readonly FieldConflict[]): ApiError {
  const causes = conflicts.map(({ entry, path }): StatusCause => {
    return { reason: 'FieldManagerConflict', message: `conflict with ${shownManager(entry)}`, field: describePath(stepsOf(path)) };
  });
  if (causes.length === 1) return new ApiError('Conflict', `Apply failed with 1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`, { causes });
  const managers = [...new Set(causes.map(({ message }) => message))].sort();
  const lines = managers.flatMap((message) => [`${message.replace('conflict', 'conflicts')}:`, ...causes.filter((cause) => cause.message === message).map(({ field }) => `- ${field}`)]);
  return new ApiError('Conflict', `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, { causes });
}

function shownManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const part = subresource === undefined ? '' : ` with subresource "${subresource}"`;
  return `"${manager}"${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

/** Two items with the same keys would be merged into one without a word. */
function refuseTwins(value: Json, names: readonly string[], steps: readonly Step[], whole: JsonObject): void {
  if (isObject(value)) {
    if (names.length > 0 && isAppliedWhole(names)) return;
    for (const [key, member] of Object.entries(value)) refuseTwins(member, [...names, key], [...steps, `f:${key}`], whole);
    return;
  }
  const list = Array.isArray(value) ? appliedList(names) : undefined;
  if (list === undefined || list.type === 'atomic') return;
  const seen = new Set<Step>();
  for (const item of value as Json[]) {
    const identity = list.type === 'set' ? item : identityOf(item, list.keys);
    if (identity === undefined) return;
    const step = `${list.type === 'set' ? 'v' : 'k'}:${JSON.stringify(identity)}`;
    if (seen.has(step)) throw badRequest(`failed to create typed patch object (${shownObject(whole)}): ${describePath(steps)}: duplicate entries for key ${describePath([step])}`);
    seen.add(step);
    if (isObject(item)) refuseTwins(item, names, [...steps, step], whole);
  }
}

/** `default/web; apps/v1, Kind=Deployment` */
function shownObject({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace = '', name = '' } = metadata as { namespace?: string; name?: string };
  const version = String(apiVersion);
  return `${namespace}/${name}; ${version.includes('/') ? version : `/${version}`}, Kind=${String(kind)}`;
}

/** The path itself or something below it is in the set. */
function isOwned(path: string, set: FieldSet): boolean {
  if (set.has(path)) return true;
  const inside = `${path.slice(0, -1)},`;
  for (const other of set) if (other.startsWith(inside)) return true;
  return false;
}

function mergeApplied(live: Json | undefined, applied: Json, names: readonly string[]): Json {
  if (isObject(applied)) {
    if (names.length > 0 && isAppliedWhole(names)) return applied;
    const result: JsonObject = isObject(live) ? { ...live } : {};
    for (const [key, value] of Object.entries(applied)) {
      if (value === null) continue;
      result[key] = mergeApplied(Object.hasOwn(result, key) ? result[key] : undefined, value, [...names, key]);
    }
    return result;
  }
  if (!Array.isArray(applied)) return applied;
  const list = appliedList(names);
  const held = Array.isArray(live) ? [...live] : [];
  if (list.type === 'set') return [...held, ...applied.filter((item) => !held.some((one) => isDeepStrictEqual(one, item)))];
  if (list.type === 'atomic' || !applied.every((item) => identityOf(item, list.keys) !== undefined)) return applied;
  for (const item of applied) {
    const identity = identityOf(item, list.keys);
    const at = held.findIndex((one) => isDeepStrictEqual(identityOf(one, list.keys), identity));
    if (at >= 0) held[at] = mergeApplied(held[at], item, names);
    else held.push(item);
  }
  return held;
}
