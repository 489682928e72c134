import type { z } from 'zod';

/**
 * Members whose empty value says something: the text `""`, the flag `false`. Of optional lists, maps and texts all others are the
 * same as absent; of flags those in `plain`.
 */
const said = new WeakSet<z.ZodType>();
const plain = new WeakSet<z.ZodType>();

/** `""` is kept: it means something else than no text (a pointer in Go). */
export const emptyIsSaid = <Schema extends z.ZodType>(schema: Schema): Schema => {
  said.add(schema);
  return schema;
};
/** `false` is the same as absent (no pointer in Go). */
export const falseIsAbsent = <Schema extends z.ZodType>(schema: Schema): Schema => {
  plain.add(schema);
  return schema;
};

interface Def {
  readonly type: string;
  readonly shape?: Record<string, z.ZodType>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
}
type Walk = (value: unknown) => void;
interface Member {
  readonly key: string;
  readonly isEmpty: ((value: unknown) => boolean) | undefined;
  readonly walk: Walk | undefined;
}

const walks = new WeakMap<z.ZodType, Walk | null>();
const defOf = (schema: z.ZodType): Def => schema._zod.def as unknown as Def;

/** Takes what is empty out of what a schema has read, where Kubernetes does not tell empty from absent. Changes `value`. */
export function dropEmpties(schema: z.ZodType, value: unknown): void {
  walkOf(schema)?.(value);
}

/** Built once per schema; undefined where nothing below can be empty. */
function walkOf(schema: z.ZodType): Walk | undefined {
  let walk = walks.get(schema);
  if (walk === undefined) {
    walk = build(defOf(schema));
    walks.set(schema, walk);
  }
  return walk ?? undefined;
}

function build({ type, shape, innerType, element, valueType }: Def): Walk | null {
  if (type === 'object') return walkObject(shape!);
  if (innerType !== undefined) return walkOf(innerType) ?? null;
  const item = element ?? valueType;
  const inside = item && walkOf(item);
  if (inside === undefined) return null;
  if (type === 'array') return (items) => (items as unknown[]).forEach((one) => inside(one));
  return (members) => Object.values(members as object).forEach((one) => inside(one));
}

function walkObject(shape: Record<string, z.ZodType>): Walk | null {
  const members = Object.entries(shape)
    .map(([key, schema]): Member => ({ key, isEmpty: emptyOf(schema), walk: walkOf(schema) }))
    .filter(({ isEmpty, walk }) => isEmpty !== undefined || walk !== undefined);
  if (members.length === 0) return null;
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    const object = value as Record<string, unknown>;
    for (const { key, isEmpty, walk } of members) {
      const member = object[key];
      if (member === undefined || member === null) continue;
      if (isEmpty?.(member) === true) delete object[key];
      else walk?.(member);
    }
  };
}

function emptyOf(schema: z.ZodType): Member['isEmpty'] {
  let def = defOf(schema);
  if (def.type !== 'optional' || said.has(schema)) return undefined;
  while (def.innerType !== undefined) def = defOf(def.innerType);
  if (def.type === 'string') return (value) => value === '';
  if (def.type === 'array') return (value) => (value as unknown[]).length === 0;
  if (def.type === 'record') return (value) => Object.keys(value as object).length === 0;
  return plain.has(schema) ? (value) => value === false : undefined;
}
