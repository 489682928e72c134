import { badRequest } from '@roundsman/api';
import { isDeepStrictEqual } from 'node:util';
import { isObject, patchedList, type Json, type JsonObject } from './lists.ts';

/**
 * Strategic merge patch: objects merge, lists with a merge key merge item by item, other lists are replaced. Directives:
 * `$patch: delete|replace|merge`, `$setElementOrder/LIST`, `$deleteFromPrimitiveList/LIST`, `$retainKeys`; null removes.
 */
export function strategicMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(withReplaced(target, patch), patch, []);
}

/** The selector of a disruption budget is replaced whole, unlike those of workloads. */
function withReplaced(target: JsonObject, patch: JsonObject): JsonObject {
  const { spec } = target;
  if (target['kind'] !== 'PodDisruptionBudget' || !isObject(spec) || !isObject(patch['spec']) || !isObject(patch['spec']['selector'])) return target;
  const { selector: _selector, ...rest } = spec;
  return { ...target, spec: rest };
}

const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

function mergeObject(target: JsonObject, patch: JsonObject, path: readonly string[]): JsonObject {
  const directive = patch['$patch'];
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') throw badRequest(`strategic merge patch: $patch at ${shown(path)} must be delete, replace or merge, not ${JSON.stringify(directive)}`);
  const result: JsonObject = { ...target };
  const retain = patch['$retainKeys'];
  if (Array.isArray(retain)) for (const key of Object.keys(result)) if (!retain.includes(key)) delete result[key];
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete result[key];
    else result[key] = mergeValue(Object.hasOwn(result, key) ? result[key] : undefined, value, [...path, key]);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deletePrefix)) deleteScalars(result, key.slice(deletePrefix.length), value);
    else if (key.startsWith(orderPrefix)) orderElements(result, target[key.slice(orderPrefix.length)], key.slice(orderPrefix.length), value, path);
    // Without a word about the order it is that of the patch.
    else if (Array.isArray(value) && patch[orderPrefix + key] === undefined && patchedList([...path, key]).type !== 'atomic') orderElements(result, target[key], key, value, path);
    else if (key.startsWith('$') && key !== '$patch' && key !== '$retainKeys') throw badRequest(`strategic merge patch: unknown directive ${key} at ${shown(path)}`);
  }
  return result;
}

function mergeValue(target: Json | undefined, patch: Json, path: readonly string[]): Json {
  if (isObject(patch)) return mergeObject(isObject(target) ? target : {}, patch, path);
  if (!Array.isArray(patch)) return patch;
  const list = patchedList(path);
  // A list that was not there is taken as it is, even with items that share a key: UDP and TCP on one port.
  const held = Array.isArray(target) ? target : undefined;
  if (held === undefined) return withoutDirectives(patch.filter((item) => !isReplacing(item)));
  if (list.type === 'set') return [...held, ...patch.filter((item) => !held.some((one) => isDeepStrictEqual(one, item)))];
  if (list.type === 'map') return mergeItems(held, patch, list.keys[0], path);
  return withoutDirectives(patch);
}

const isReplacing = (item: Json): boolean => isObject(item) && item['$patch'] === 'replace' && Object.keys(item).length === 1;

function mergeItems(target: readonly Json[], patch: readonly Json[], key: string, path: readonly string[]): Json[] {
  if (patch.some(isReplacing)) return patch.filter((item) => !isReplacing(item));
  const result = [...target];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`strategic merge patch: every item of ${shown(path)} must be an object`);
    const id = item[key];
    if (id === undefined) throw badRequest(`strategic merge patch: an item of ${shown(path)} has no ${key}, by which items are told apart`);
    const at = result.findIndex((one) => isObject(one) && isDeepStrictEqual(one[key], id));
    if (item['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (at >= 0) {
      result[at] = mergeObject(result[at] as JsonObject, item, path);
    } else {
      result.push(withoutDirectives(item));
    }
  }
  return result;
}

function deleteScalars(result: JsonObject, list: string, gone: Json | undefined): void {
  const held = result[list];
  if (!Array.isArray(held) || !Array.isArray(gone)) return;
  result[list] = held.filter((item) => !gone.some((one) => isDeepStrictEqual(one, item)));
}

/**
 * Those named come in the order given, the others in the order they had; each of the others stands before the first named one
 * that it stood before in the live list, and behind all where there is none.
 */
function orderElements(result: JsonObject, live: Json | undefined, list: string, order: Json | undefined, path: readonly string[]): void {
  const merged = result[list];
  if (!Array.isArray(merged) || !Array.isArray(order)) return;
  const kind = patchedList([...path, list]);
  const idOf = (item: Json): Json | undefined => (kind.type === 'map' && isObject(item) ? item[kind.keys[0]] : item);
  const rankIn = (items: readonly Json[], item: Json): number => items.findIndex((one) => isDeepStrictEqual(idOf(one), idOf(item)));
  const before = Array.isArray(live) ? live : [];
  const named = merged.filter((item) => rankIn(order, item) >= 0).sort((a, b) => rankIn(order, a) - rankIn(order, b));
  const others = merged.filter((item) => rankIn(order, item) < 0);
  const ordered: Json[] = [];
  while (others.length > 0 && named.length > 0) {
    const [other, name] = [rankIn(before, others[0] as Json), rankIn(before, named[0] as Json)];
    ordered.push((other >= 0 && name >= 0 && other < name ? others : named).shift() as Json);
  }
  result[list] = [...ordered, ...named, ...others];
}

function withoutDirectives<Value extends Json>(patch: Value): Value {
  const clean = (value: Json): Json => {
    if (Array.isArray(value)) return value.filter((item) => !(isObject(item) && item['$patch'] === 'delete')).map(clean);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).filter(([key, item]) => !key.startsWith('$') && item !== null).map(([key, item]) => [key, clean(item)]));
  };
  return clean(patch) as Value;
}

const shown = (path: readonly string[]): string => (path.length === 0 ? 'the top' : path.join('.'));
