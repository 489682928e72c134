import type { KubeObject } from '../meta.ts';
import { forbiddenField, invalidValue, tooLong, findings, type Findings } from './causes.ts';
import { isDeepStrictEqual } from 'node:util';

/** Bytes of all values of a ConfigMap or Secret together, as Kubernetes has it. */
const maxDataBytes = 1024 * 1024;

/** Rules of ConfigMap and Secret: keys, size, and `immutable`. Values never appear in a message. */
export function dataRules(object: KubeObject, old: KubeObject | undefined, members: readonly string[]): Findings {
  const found = findings();
  let bytes = 0;
  const body = object as unknown as Record<string, unknown>;
  const before = old as unknown as Record<string, unknown> | undefined;
  for (const member of members) {
    for (const [key, value] of Object.entries((body[member] ?? {}) as Record<string, string>)) {
      if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key) || key === '.' || key === '..' || key.startsWith('...')) {
        found.causes.push(invalidValue(`${member}[${key}]`, key, "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"));
      }
      bytes += Buffer.byteLength(value);
    }
    if (before?.['immutable'] === true && !isDeepStrictEqual(before[member] ?? {}, body[member] ?? {})) {
      found.causes.push(forbiddenField(member, 'field is immutable when `immutable` is set'));
    }
  }
  if (before?.['immutable'] === true && body['immutable'] !== true) found.causes.push(forbiddenField('immutable', 'field is immutable when `immutable` is set'));
  if (bytes > maxDataBytes) found.causes.push(tooLong(members[0]!, maxDataBytes));
  return found;
}
