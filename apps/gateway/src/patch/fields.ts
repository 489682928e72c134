import { isDeepStrictEqual } from 'node:util';
import { badRequest } from '@roundsman/api';
import { appliedList, identityOf, isAppliedWhole, isObject, keyOf, type Json, type JsonObject } from './lists.ts';

/**
 * Which fields of an object somebody owns. A path is a list of steps as in fieldsV1: `f:name` a member, `k:{"type":"Ready"}` an
 * item of a keyed list, `v:"x"` an item of a set; paths are kept as their JSON text.
 */
export type FieldSet = Set<string>;
export type Step = string;

/** Members of metadata that the server sets; nobody owns them. */
const unowned: ReadonlySet<string> = new Set([
  'name', 'generateName', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'managedFields',
]);

export const union = (a: FieldSet, b: FieldSet): FieldSet => new Set([...a, ...b]);
export const stepsOf = (path: string): Step[] => JSON.parse(path) as Step[];

/** Every field that has a value, down to what is merged as one. */
export const fieldsOf = (object: JsonObject): FieldSet => fromFieldsV1(fieldsV1Of(object));

/** The same in the nested form of `managedFields[].fieldsV1`. Every create through here makes it, so it is one plain walk. */
export function fieldsV1Of(object: JsonObject): JsonObject {
  const root: JsonObject = {};
  for (const [key, member] of Object.entries(object)) if (key !== 'apiVersion' && key !== 'kind') addField(root, `f:${key}`, member, [key]);
  return root;
}

function addField(parent: JsonObject, step: Step, value: Json | undefined, names: readonly string[]): void {
  if (value === undefined || value === null || (names.length === 2 && names[0] === 'metadata' && unowned.has(names[1] as string))) return;
  const node = Array.isArray(value) ? listFields(value, names) : isObject(value) ? objectFields(value, names) : {};
  if (node !== undefined) parent[step] = node;
}

function objectFields(value: JsonObject, names: readonly string[]): JsonObject | undefined {
  const node: JsonObject = {};
  const members = isAppliedWhole(names) ? [] : Object.entries(value);
  for (const [key, member] of members) addField(node, `f:${key}`, member, [...names, key]);
  // Without a member that has a value it is no field, unless it was empty from the start; metadata always is there.
  const nothing = Object.keys(node).length === 0 && (members.length > 0 || (names.length === 1 && names[0] === 'metadata'));
  return nothing ? undefined : node;
}

function listFields(items: readonly Json[], names: readonly string[]): JsonObject {
  const node: JsonObject = {};
  const list = appliedList(names);
  if (list.type === 'set') for (const item of items) node[`v:${JSON.stringify(item)}`] = {};
  if (list.type !== 'map') return node;
  for (const item of items) {
    const identity = identityOf(item, list.keys);
    if (identity === undefined) return {};
    const inside: JsonObject = { '.': {} };
    for (const [key, member] of Object.entries(item as JsonObject)) addField(inside, `f:${key}`, member, [...names, key]);
    node[`k:${JSON.stringify(identity)}`] = inside;
  }
  return node;
}

/** What a path leads to; undefined where there is nothing. */
export function valueAt(object: Json | undefined, steps: readonly Step[]): Json | undefined {
  let value: Json | undefined = object;
  for (const step of steps) {
    if (step.startsWith('f:')) {
      const name = step.slice(2);
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    } else value = Array.isArray(value) ? value.find((item) => isItem(item, step)) : undefined;
  }
  return value;
}

export function isItem(item: Json, step: Step): boolean {
  const wanted = JSON.parse(step.slice(2)) as Json;
  if (step.startsWith('v:')) return isDeepStrictEqual(item, wanted);
  return isObject(item) && isObject(wanted) && Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(keyOf(item, key), value));
}

/** Takes a field out, and the objects and lists that are empty then. Changes `object`. */
export function removeAt(object: JsonObject, steps: readonly Step[]): void {
  const parents: { value: Json; step: Step }[] = [];
  let value: Json | undefined = object;
  for (const step of steps) {
    if (value === undefined) return;
    parents.push({ value, step });
    value = valueAt(value, [step]);
  }
  for (const { value: parent, step } of parents.reverse()) {
    if (Array.isArray(parent)) {
      const at = parent.findIndex((item) => isItem(item, step));
      if (at >= 0) parent.splice(at, 1);
    } else if (isObject(parent)) delete parent[step.slice(2)];
    if (Array.isArray(parent) ? parent.length > 0 : Object.keys(parent as JsonObject).length > 0) return;
  }
}

/** The nested form of `managedFields[].fieldsV1`; `.` marks an owned step that has owned steps below it. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const root: JsonObject = {};
  for (const path of [...set].sort()) {
    let node = root;
    const steps = stepsOf(path);
    for (const step of steps) node = (node[step] ??= {}) as JsonObject;
    if ((steps.at(-1) as string).startsWith('k:')) node['.'] = {};
  }
  return root;
}

export function fromFieldsV1(fields: unknown): FieldSet {
  const found: FieldSet = new Set();
  const walk = (node: unknown, steps: readonly Step[]): void => {
    if (!isObject(node)) return;
    const below = Object.entries(node).filter(([step]) => step !== '.');
    if (steps.length > 0 && (below.length === 0 || ('.' in node && (steps.at(-1) as string).startsWith('k:')))) found.add(JSON.stringify(steps));
    for (const [step, child] of below) walk(child, [...steps, checkedStep(step)]);
  };
  walk(fields, []);
  return found;
}

function checkedStep(step: string): Step {
  if (step.startsWith('f:')) return step;
  try {
    if (step.startsWith('v:') || (step.startsWith('k:') && isObject(JSON.parse(step.slice(2))))) {
      JSON.parse(step.slice(2));
      return step;
    }
  } catch {
    // Falls through to the refusal.
  }
  throw badRequest(`metadata.managedFields: ${JSON.stringify(step)} is not a step of fieldsV1; expected f:NAME, k:{"key":value} or v:value`);
}

/** `.spec.target.host`, `.status.conditions[type="Ready"].status`, `.metadata.finalizers["x"]`: for people. */
export function describePath(steps: readonly Step[]): string {
  return steps
    .map((step) => {
      if (step.startsWith('f:')) return /^[A-Za-z_][A-Za-z0-9_]*$/.test(step.slice(2)) ? `.${step.slice(2)}` : `[${JSON.stringify(step.slice(2))}]`;
      if (step.startsWith('v:')) return `[${step.slice(2)}]`;
      const keys = Object.entries(JSON.parse(step.slice(2)) as JsonObject);
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
    })
    .join('');
}
