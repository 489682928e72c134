import type { z } from 'zod';

/** Where a value stands: in the member or item `key` of what `parent` leads to. Written out only for what is found. */
interface Place {
  readonly parent: Place | undefined;
  readonly key: string | number;
}

type Members = Record<string | number, unknown>;

/** Collects where members stand that a schema does not know. */
type Walk = (value: unknown, place: Place | undefined, found: Place[]) => void;

interface Def {
  readonly type: string;
  readonly shape?: Record<string, z.ZodType>;
  readonly catchall?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly left?: z.ZodType;
  readonly right?: z.ZodType;
  readonly getter?: () => z.ZodType;
}

const walks = new WeakMap<z.ZodType, Walk | null>();
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `spec`, `header` -> `spec.header`; keys that are no plain word stand in brackets. */
export const memberPath = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
};

const pathOf = (place: Place | undefined): string => (place === undefined ? '' : memberPath(pathOf(place.parent), place.key));

/** Paths of members in `value` that its schema does not name, in the order they stand: `spec.bogus`, `spec.target.header[0].x`. */
export function unknownFields(schema: z.ZodType, value: unknown): string[] {
  return placesOf(schema, value).map(pathOf);
}

/** The same without the members that its schema does not name; itself when there are none. */
export function withoutUnknown<Value>(schema: z.ZodType, value: Value): Value {
  const places = placesOf(schema, value);
  if (places.length === 0) return value;
  const copies = new Map<Place | undefined, Members>();
  // Only what something is taken out of is copied, once.
  const copyAt = (place: Place | undefined): Members => {
    const made = copies.get(place);
    if (made !== undefined) return made;
    const parent = place && copyAt(place.parent);
    const original = (place === undefined ? value : parent?.[place.key]) as Members;
    const copy = (Array.isArray(original) ? [...original] : { ...original }) as Members;
    if (place !== undefined && parent !== undefined) parent[place.key] = copy;
    copies.set(place, copy);
    return copy;
  };
  for (const { parent, key } of places) delete copyAt(parent)[key];
  return copyAt(undefined) as Value;
}

function placesOf(schema: z.ZodType, value: unknown): Place[] {
  const found: Place[] = [];
  walkOf(schema)?.(value, undefined, found);
  return found;
}

/** Built once per schema; null where nothing below can be unknown. */
function walkOf(schema: z.ZodType): Walk | null {
  let walk = walks.get(schema);
  if (walk === undefined) {
    walk = build(schema, schema._zod.def as unknown as Def);
    walks.set(schema, walk);
  }
  return walk;
}

function build(schema: z.ZodType, def: Def): Walk | null {
  if (def.type === 'object') return walkObject(def);
  if (def.type === 'lazy') return (value, place, found) => walkOf(def.getter!())?.(value, place, found);
  if (def.type === 'union') return walkUnion(def.options!);
  if (def.innerType !== undefined) return walkOf(def.innerType);
  if (def.type === 'pipe') return walkOf(def.in!);
  if (def.type === 'array') {
    const element = walkOf(def.element!);
    return (
      element &&
      ((value, parent, found) => {
        if (Array.isArray(value)) for (let key = 0; key < value.length; key++) element(value[key], { parent, key }, found);
      })
    );
  }
  if (def.type === 'record') {
    const member = walkOf(def.valueType!);
    if (member === null) return null;
    return (value, parent, found) => {
      if (isRecord(value)) for (const key of Object.keys(value)) member(value[key], { parent, key }, found);
    };
  }
  return null;
}

function walkObject({ shape, catchall }: Def): Walk {
  const members = new Map(Object.entries(shape!).map(([key, member]) => [key, walkOf(member)]));
  const open = catchall !== undefined && catchall._zod.def.type !== 'never';
  return (value, parent, found) => {
    if (!isRecord(value)) return;
    for (const key of Object.keys(value)) {
      const member = members.get(key);
      if (member === undefined) {
        if (!open) found.push({ parent, key });
      } else member?.(value[key], { parent, key }, found);
    }
  };
}

/** The option that fits decides; when none fits the schema's own message is what matters. */
function walkUnion(options: readonly z.ZodType[]): Walk | null {
  if (options.every((option) => walkOf(option) === null)) return null;
  return (value, place, found) => {
    const option = options.find((candidate) => candidate.safeParse(value).success);
    if (option !== undefined) walkOf(option)?.(value, place, found);
  };
}
