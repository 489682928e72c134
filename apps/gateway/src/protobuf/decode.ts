import { ApiError, badRequest } from '@roundsman/api';
import protobuf, { type Message, type Type } from 'protobufjs/light.js';
import type { Json, JsonObject } from '../patch/lists.ts';
import { fieldsOf, type BodyRows, type MessageField, type MessageRows } from './messages.ts';

const scalars: Readonly<Record<string, string>> = { str: 'string', bool: 'bool', int32: 'int32', int64: 'int64', bytes: 'bytes' };

/** A decoded message: its own members were sent, inherited ones are zero. */
type Sent = Readonly<Record<string, unknown>>;

export interface Decoded {
  readonly object: JsonObject;
  /** About fields that were sent with a value and have no row: they are not in the object. */
  readonly warnings: readonly string[];
}

interface WellKnown {
  readonly row: string;
  readonly json: (sent: Sent) => Json;
}

/** Messages with a JSON form of their own. */
const wellKnown: Readonly<Record<string, WellKnown>> = {
  Time: { row: 'seconds=1:int64 nanos=2:int32', json: (sent) => time(sent, '') },
  MicroTime: { row: 'seconds=1:int64 nanos=2:int32', json: (sent) => time(sent, `.${String(Math.trunc(Number(sent['nanos']) / 1000)).padStart(6, '0')}`) },
  Quantity: { row: 'string=1:str', json: ({ string }) => string as string },
  IntOrString: { row: 'type=1:int64 intVal=2:int32 strVal=3:str', json: ({ type, intVal, strVal }) => (whole(type) === 0 ? (intVal as number) : (strVal as string)) },
  FieldsV1: { row: 'Raw=1:bytes', json: ({ Raw }) => embedded(Raw) },
  RawExtension: { row: 'raw=1:bytes', json: ({ raw }) => embedded(raw) },
};

interface Definition {
  readonly type: Type;
  readonly fields: readonly MessageField[];
}

const prefix = Buffer.from('k8s\0');
const maxWarnings = 10;

/** Turns protobuf bodies of Kubernetes clients into the JSON that the same clients would have sent. */
export class ProtobufBodies {
  readonly #bodies: BodyRows;
  readonly #definitions: ReadonlyMap<string, Definition>;

  /** Throws when a row is not in form, or names a message that has none. */
  constructor(messages: MessageRows, bodies: BodyRows) {
    this.#bodies = bodies;
    const rows = { ...messages, ...Object.fromEntries(Object.entries(wellKnown).map(([name, { row }]) => [name, row])) };
    const fields = Object.entries(rows).map(([name, row]) => [name, fieldsOf(name, row)] as const);
    const root = rootOf(fields);
    this.#definitions = new Map(fields.map(([name, own]) => [name, { type: root.lookupType(name), fields: own }]));
  }

  /** The object with its `apiVersion` and `kind`. 400 for bytes that are no such message, 415 for a message without a row. */
  decode(bytes: Buffer): Decoded {
    if (!bytes.subarray(0, prefix.length).equals(prefix)) throw badRequest('broken protobuf: the body does not begin with "k8s" and a NUL, as every Kubernetes object in protobuf does');
    const envelope = read(this.#type('Unknown'), bytes.subarray(prefix.length), 'envelope');
    const { apiVersion = '', kind = '' } = (envelope['typeMeta'] ?? {}) as { apiVersion?: string; kind?: string };
    const { contentEncoding = '', contentType = '' } = envelope as { contentEncoding?: string; contentType?: string };
    if (kind === '') throw badRequest('broken protobuf: the envelope names no kind');
    const message = [`${apiVersion} ${kind}`, kind].map((key) => (Object.hasOwn(this.#bodies, key) ? this.#bodies[key] : undefined)).find((found) => found !== undefined);
    if (message === undefined || contentEncoding !== '' || !['', 'application/vnd.kubernetes.protobuf'].includes(contentType)) {
      const what = message === undefined ? `of ${JSON.stringify(`${apiVersion} ${kind}`.slice(0, 200))}` : 'that wrap another encoding';
      throw new ApiError(
        'UnsupportedMediaType',
        `protobuf bodies ${what} are not read here: add "--dry-run=client -o yaml" to this kubectl command and send what it prints with "kubectl create -f -", which speaks JSON`,
      );
    }
    const sent = read(this.#type(message), (envelope['raw'] ?? new Uint8Array()) as Uint8Array, kind);
    const warnings = new Set<string>();
    return { object: { apiVersion, kind, ...this.#object(message, sent, warnings) }, warnings: [...warnings] };
  }

  #type(name: string): Type {
    return (this.#definitions.get(name) as Definition).type;
  }

  #object(message: string, sent: Sent, warnings: Set<string>): JsonObject {
    const object: JsonObject = {};
    const { fields } = this.#definitions.get(message) as Definition;
    for (const raw of (sent['$unknowns'] ?? []) as Uint8Array[]) {
      const reader = protobuf.Reader.create(raw);
      const id = reader.uint32() >>> 3;
      const known = fields.find((field) => field.id === id);
      if (known) throw badRequest(`broken protobuf: field ${id} of ${message} (${known.name}) is not of its type`);
      if (raw.subarray(reader.pos).some((byte) => byte !== 0) && warnings.size < maxWarnings) warnings.add(`unknown protobuf field ${id} of ${message} was dropped`);
    }
    for (const { name, type, form, pointer, inlined } of fields) {
      if (!Object.hasOwn(sent, name)) continue;
      const value = sent[name];
      // Made empty for every message; nothing else can be told from an empty one.
      if (form !== 'one' && Object.keys(value as object).length === 0) continue;
      if (form === 'map') {
        // fromEntries, unlike an assignment, makes any key a member, "__proto__" too, which is refused later.
        object[name] = Object.fromEntries(Object.entries(value as Sent).map(([key, item]) => [key, this.#value(type, item, warnings)]));
      } else if (form === 'list') {
        object[name] = (value as unknown[]).map((item) => this.#value(type, item, warnings));
      } else {
        const json = this.#value(type, value, warnings);
        if (inlined) Object.assign(object, json);
        else if (pointer || !Object.hasOwn(scalars, type) || !isZero(json)) object[name] = json;
      }
    }
    return object;
  }

  #value(type: string, value: unknown, warnings: Set<string>): Json {
    if (type === 'bytes') return base64(value as Uint8Array | readonly []);
    if (type === 'int64') return whole(value);
    if (Object.hasOwn(scalars, type)) return value as Json;
    return Object.hasOwn(wellKnown, type) ? (wellKnown[type] as WellKnown).json(value as Sent) : this.#object(type, value as Sent, warnings);
  }
}

/** Edition 2023 tells what was sent from what was not, and refuses text that is not UTF-8. */
function rootOf(messages: readonly (readonly [string, readonly MessageField[]])[]): protobuf.Root {
  const nested = messages.map(([name, fields]) => {
    const described = fields.map(({ name: field, id, type, form }) => [field, { id, type: scalars[type] ?? type, ...(form === 'map' ? { keyType: 'string' } : form === 'list' ? { rule: 'repeated' } : {}) }]);
    return [name, { edition: '2023', fields: Object.fromEntries(described) as protobuf.IType['fields'] }];
  });
  return protobuf.Root.fromJSON({ nested: Object.fromEntries(nested) as protobuf.INamespace['nested'] }).resolveAll() as protobuf.Root;
}

function read(type: Type, bytes: Uint8Array, what: string): Sent {
  try {
    const reader = protobuf.Reader.create(bytes);
    reader.discardUnknown = false;
    return type.decode(reader) as Message & Sent;
  } catch (error) {
    throw badRequest(`broken protobuf: the ${what} cannot be read: ${(error as Error).message}`);
  }
}

const isZero = (value: Json): boolean => value === '' || value === 0 || value === false;
/** An empty array stands for the value that Go left out of a map entry because it is nil. */
const base64 = (bytes: Uint8Array | readonly []): string => Buffer.from(bytes).toString('base64');

/** 64 bits come as an object of two halves. */
function whole(value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw badRequest(`the number ${String(value)} is larger than JSON can say exactly`);
  return number;
}

/** RFC 3339; the zero time of Go is sent as an empty message and is null in JSON. `fraction` goes between seconds and zone. */
function time(sent: Sent, fraction: string): Json {
  if (!Object.hasOwn(sent, 'seconds') && !Object.hasOwn(sent, 'nanos')) return null;
  const seconds = whole(sent['seconds']);
  const text = Math.abs(seconds) < 1e12 ? new Date(seconds * 1000).toISOString() : '';
  if (!/^\d{4}-/.test(text)) throw badRequest(`the time of ${seconds} seconds since 1970 is not within the years 0 to 9999`);
  return text.replace('.000Z', `${fraction}Z`);
}

/** JSON within bytes, as Kubernetes keeps what has no schema; absent is null. */
function embedded(bytes: unknown): Json {
  if ((bytes as Uint8Array).length === 0) return null;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes as Uint8Array)) as Json;
  } catch {
    throw badRequest('broken protobuf: a field that holds JSON holds something else');
  }
}
