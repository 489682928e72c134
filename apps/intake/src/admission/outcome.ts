import { ApiError, badRequest, type Kind, type KubeObject, type Limits, type Policy } from '@roundsman/api';
import type { Change, writeSchema } from '@roundsman/bus';
import type { z } from 'zod';
import type { AddressBook } from '../addresses/book.ts';
import type { HostBook } from '../addresses/hosts.ts';

/** One write as it arrives. */
export type WriteRequest = z.output<typeof writeSchema>;

/** What admission looks at: objects as admitted so far, the configured limits. */
export interface AdmissionView {
  /** Objects as they will be when everything admitted before is committed. */
  readonly admitted: (resource: string, namespace: string | undefined, name: string) => KubeObject | undefined;
  /** The same of a whole resource: what two writes of one batch may not both have is had by the first. */
  readonly list: (resource: string) => readonly KubeObject[];
  readonly limits: Limits;
  readonly policy: Policy;
  readonly now: number;
  /** Which service has which address and port. */
  readonly addresses: AddressBook;
  /** Which DNS object has which host. */
  readonly hosts: HostBook;
}

/** What a write leads to. Without `type` nothing changes: dry run, or the object is as wanted already. */
export interface Admitted {
  readonly type?: Change['type'];
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** After the write; its resourceVersion is set when a version is given to the change. */
  readonly object: KubeObject;
  readonly warnings: string[];
  /** Another object that changes with it, just before it and in the same transaction. */
  readonly before?: Admitted;
}

/** A write that changes an object, or would if it were not a dry run. Throws when the object cannot be stored. */
export function admitted(kind: Kind, type: Change['type'], object: KubeObject, warnings: string[], { dryRun }: Pick<WriteRequest, 'dryRun'>): Admitted {
  const { namespace = '', name } = object.metadata;
  storable(kind, object);
  return { ...(!dryRun && { type }), kind, namespace: kind.namespaced ? namespace : '', name, object, warnings };
}

/** A write after which everything is as before. */
export const unchanged = (kind: Kind, object: KubeObject, warnings: string[] = []): Admitted => ({
  kind,
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name,
  object,
  warnings,
});

/** RFC 3339, whole seconds. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Bytes of one object as JSON: it travels in one message together with what surrounds it. */
const maxObjectBytes = 1_500_000;

function storable(kind: Kind, object: KubeObject): void {
  const text = JSON.stringify(object);
  // No character of it has more than three bytes.
  const bytes = text.length * 3 > maxObjectBytes ? Buffer.byteLength(text) : text.length;
  if (bytes > maxObjectBytes) throw new ApiError('RequestEntityTooLarge', `the object has ${bytes} bytes; the limit is ${maxObjectBytes}`);
  // Postgres cannot read them in text, nor can most others. Escapes are rare, so the costly look is rarely needed.
  if (/\\u(0000|d[89a-f])/.test(text)) refuseUnreadable(kind, object);
}

function refuseUnreadable(kind: Kind, object: KubeObject): void {
  JSON.stringify(object, (key, value: unknown) => {
    for (const part of [key, value]) {
      if (typeof part !== 'string' || (!part.includes('\0') && part.isWellFormed())) continue;
      throw badRequest(`${kind.kind} ${JSON.stringify(object.metadata.name)} cannot be stored: the text at ${JSON.stringify(key)} holds a NUL or half a character`);
    }
    return value;
  });
}
