import { ApiError, badRequest } from '@roundsman/api';
import { parseDocument, type Document } from 'yaml';
import { jsonErrorOffset } from './json-position.ts';

/** A parsed request body and what strict clients want to hear about its text. */
export interface Body {
  readonly value: unknown;
  /** Keys given twice in JSON, as paths; the last one counts. */
  readonly duplicates: readonly string[];
  /** What was left out of the value, and why. */
  readonly warnings?: readonly string[];
}

/** Aliases that one YAML document may spell out in all; a bomb of nine by nine levels has a billion. */
const maxAliasCount = 100;
const maxDepth = 100;
/** What a body may come to as JSON: YAML aliases and escapes can make it much longer than it was. What then is stored may be less (intake). */
const maxJsonBytes = 3 << 20;

/** Media type without parameters, lower case. Only UTF-8 is read. */
export function mediaType(header: string | undefined): string {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';').map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '');
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'us-ascii') throw new ApiError('UnsupportedMediaType', `charset ${charset} is not read here; send UTF-8`);
  return type;
}

const yamlTypes = new Set(['application/yaml', 'text/yaml', 'application/x-yaml', 'text/x-yaml', 'application/apply-patch+yaml']);
const jsonTypes = new Set(['', 'application/json', 'text/json', 'application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json']);

/** What kubectl's generators (`create secret`, `auth can-i`) and Go's typed clients send. */
const protobufType = 'application/vnd.kubernetes.protobuf';

/** Protobuf, JSON or YAML by content type. */
export async function readBody(bytes: Buffer, contentType: string | undefined): Promise<Body> {
  if (mediaType(contentType) !== protobufType) return parseBody(bytes, contentType);
  // Loaded with the first such body: it costs a few MiB, and many a gateway never meets one.
  const { readProtobuf } = await import('../protobuf/read.ts');
  const { object, warnings } = readProtobuf(bytes);
  return { value: bounded(checked(object)), duplicates: [], warnings };
}

/** JSON or YAML by content type (no type means JSON, as kubectl's PUT of a scale). Every refusal says where in the text. */
export function parseBody(bytes: Buffer, contentType: string | undefined): Body {
  const type = mediaType(contentType);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('the body is not valid UTF-8');
  }
  if (yamlTypes.has(type)) return { value: bounded(checked(parseYaml(text))), duplicates: [] };
  if (!jsonTypes.has(type)) throw new ApiError('UnsupportedMediaType', `the body is ${JSON.stringify(type)}; send application/json or application/yaml`);
  const value = checked(parseJson(text));
  // What reads back the same lacks nothing; a key that stood twice would be gone.
  return { value, duplicates: JSON.stringify(value) === text ? [] : duplicateKeys(text) };
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw badRequest('the body is empty; send an object as JSON or YAML');
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own words may quote the body, which may hold secrets, and do not always say where.
    const offset = jsonErrorOffset(text);
    const before = text.slice(0, offset).split('\n');
    const what = offset >= text.length ? 'it ends too early' : `${JSON.stringify(text[offset])} cannot stand`;
    throw badRequest(`broken JSON: ${what} at line ${before.length}, column ${(before.at(-1) as string).length + 1}`);
  }
}

function parseYaml(text: string): unknown {
  if (text.trim() === '') throw badRequest('the body is empty; send an object as JSON or YAML');
  const document = readDocument(text);
  const [error] = document.errors;
  if (error) {
    const at = error.linePos?.[0];
    const first = error.message.split('\n')[0] as string;
    if (first.includes('call stack')) throw tooDeep();
    // The library's own sentence already ends in "at line L, column C:".
    throw badRequest(`broken YAML: ${first.replace(/:$/, '')}${at && !first.includes(' line ') ? ` at line ${at.line}, column ${at.col}` : ''}`);
  }
  try {
    return document.toJS({ maxAliasCount });
  } catch (error) {
    if (error instanceof ReferenceError) throw badRequest(`broken YAML: ${error.message}; at most ${maxAliasCount} uses of aliases are read`);
    throw error;
  }
}

function readDocument(text: string): Document.Parsed {
  try {
    return parseDocument(text, { uniqueKeys: true, stringKeys: true, prettyErrors: true });
  } catch (error) {
    // The parser recurses; only nesting far beyond ours exhausts the stack.
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
}

const tooDeep = (): Error => badRequest(`the body is nested deeper than ${maxDepth} levels`);

/** Refuses what would hurt whoever walks the value: deep nesting, and keys that reach a prototype. */
function checked(value: unknown): unknown {
  const walk = (node: unknown, depth: number): void => {
    if (typeof node !== 'object' || node === null) return;
    if (depth > maxDepth) throw tooDeep();
    if (Array.isArray(node)) {
      for (const item of node) walk(item, depth + 1);
      return;
    }
    for (const [key, item] of Object.entries(node)) {
      if (key === '__proto__') throw badRequest('the body holds the key "__proto__", which is not read here');
      walk(item, depth + 1);
    }
  };
  walk(value, 0);
  return value;
}

/** Refuses what would be too large once it is JSON; stops counting there. */
function bounded(value: unknown): unknown {
  let left = maxJsonBytes;
  const take = (text: string): void => {
    left -= Buffer.byteLength(JSON.stringify(text)) + 1;
    if (left < 0) throw new ApiError('RequestEntityTooLarge', `the body is larger than ${maxJsonBytes} bytes once it is JSON, which is the limit`);
  };
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) {
      take(String(node));
      return;
    }
    take('');
    for (const [key, item] of Object.entries(node)) {
      if (!Array.isArray(node)) take(key);
      walk(item);
    }
  };
  walk(value);
  return value;
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** Paths of keys that stand twice in one object of a (valid) JSON text. */
export function duplicateKeys(text: string): string[] {
  interface Level {
    /** Undefined in an array. */
    readonly keys?: Set<string>;
    key: string;
    index: number;
  }
  const found: string[] = [];
  const levels: Level[] = [];
  const path = (): string => levels.map(({ keys, key, index }, i) => (keys ? (i === 0 ? key : `.${key}`) : `[${index}]`)).join('');
  let expectKey = false;
  for (const [lexeme] of text.matchAll(token)) {
    const top = levels.at(-1);
    if (lexeme === '{') {
      levels.push({ keys: new Set(), key: '', index: 0 });
      expectKey = true;
    } else if (lexeme === '[') {
      levels.push({ key: '', index: 0 });
      expectKey = false;
    } else if (lexeme === '}' || lexeme === ']') {
      levels.pop();
      expectKey = false;
    } else if (lexeme === ',') {
      if (top?.keys) expectKey = true;
      else if (top) top.index += 1;
    } else if (lexeme === ':') {
      expectKey = false;
    } else if (expectKey && top?.keys) {
      top.key = JSON.parse(lexeme) as string;
      if (top.keys.has(top.key)) found.push(path());
      top.keys.add(top.key);
      expectKey = false;
    }
  }
  return found;
}
