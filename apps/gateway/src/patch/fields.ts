import { isDeepStrictEqual } from 'node:util';
import { badRequest } from '@roundsman/api';
import { isObject, listType, type Json, type JsonObject } from './lists.ts';

/**
 * Which fields of an object somebody owns. A path is a list of steps as in fieldsV1: `f:name` a member, `k:{"type":"Ready"}` an
 * item of a keyed list, `v:"x"` an item of a set; paths are kept as their JSON text.
 */
export type FieldSet = Set<string>;
export type Step = string;

/** Fields that the server sets; nobody owns them. */
const unowned = new Set(
  ['apiVersion', 'kind', 'metadata'].map((field) => JSON.stringify([`f:${field}`])).concat(
    ['name', 'generateName', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'managedFields'].map((field) =>
      JSON.stringify(['f:metadata', `f:${field}`]),
    ),
  ),
);

export const union = (a: FieldSet, b: FieldSet): FieldSet => new Set([...a, ...b]);
export const stepsOf = (path: string): Step[] => JSON.parse(path) as Step[];

/** Every field that has a value, down to what is merged as one. */
export function fieldsOf(object: JsonObject): FieldSet {
  const found: FieldSet = new Set();
  const add = (steps: readonly Step[]): void => {
    const path = JSON.stringify(steps);
    if (!unowned.has(path)) found.add(path);
  };
  const walk = (value: Json | undefined, steps: readonly Step[], names: readonly string[]): void => {
    if (value === undefined || value === null || (names.length > 1 && unowned.has(JSON.stringify(steps)))) return;
    if (Array.isArray(value)) {
      const list = listType(names);
      if (list.type === 'map' && value.length > 0 && value.every((item) => isObject(item) && item[list.key] !== undefined)) {
        for (const item of value as JsonObject[]) {
          const inside = [...steps, `k:${JSON.stringify({ [list.key]: item[list.key] as Json })}`];
          add(inside);
          for (const [key, member] of Object.entries(item)) walk(member, [...inside, `f:${key}`], [...names, key]);
        }
      } else if (list.type === 'set' && value.length > 0) for (const item of value) add([...steps, `v:${JSON.stringify(item)}`]);
      else add(steps);
    } else if (isObject(value) && Object.keys(value).length > 0) {
      for (const [key, member] of Object.entries(value)) walk(member, [...steps, `f:${key}`], [...names, key]);
    } else add(steps);
  };
  for (const [key, member] of Object.entries(object)) walk(member, [`f:${key}`], [key]);
  return found;
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
  return isObject(item) && isObject(wanted) && Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(item[key], value));
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
      const [[key, value] = ['', '']] = Object.entries(JSON.parse(step.slice(2)) as JsonObject);
      return `[${key}=${JSON.stringify(value)}]`;
    })
    .join('');
}
