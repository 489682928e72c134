import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PodTemplateSpec } from '@roundsman/api';

/** On the replica sets and pods of a deployment: which template they are from. */
export const hashLabel = 'pod-template-hash';

/** Letters and digits that make no words; those Kubernetes uses. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const length = 10;

/** The same for equal templates, whatever the order of their members. `collisions`: how often the name was taken by something else. */
export function templateHash(template: PodTemplateSpec, collisions = 0): string {
  const digest = createHash('sha256').update(canonical(template)).update(collisions === 0 ? '' : String(collisions)).digest();
  return Array.from(digest.subarray(0, length), (byte) => alphabet[byte % alphabet.length]).join('');
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

/** Whether pods made from either are alike; the label with the hash does not count. */
export const sameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean => isDeepStrictEqual(comparable(a), comparable(b));

function comparable({ metadata, spec }: PodTemplateSpec): unknown {
  const { labels, annotations, creationTimestamp: _shownAsNull, ...rest } = metadata;
  const { [hashLabel]: _hash, ...others } = labels ?? {};
  return { ...rest, labels: others, annotations: { ...annotations }, spec };
}
