import { createHash } from 'node:crypto';
import { apiVersionOf, openApiDocument } from '@roundsman/api';
import type { Listed } from './discovery.ts';

/** OpenAPI v3: an index, and one document per group and version. */
export interface OpenApi {
  index(): object;
  /** `api/v1`, `apis/roundsman.io/v1`; undefined when nothing of it is served. */
  document(path: string): object | undefined;
}

/**
 * An OpenAPI v2 document that describes nothing, as the protobuf that kubectl insists on (gnostic's openapi.v2.Document: 1 swagger,
 * 2 info {1 title, 2 version}). kubectl asks for it only about a kind that v3 does not have; finding nothing, it goes on to say
 * `no matches for kind`, while without it it advises to turn validation off. All bytes are ASCII.
 */
export const emptyOpenApiV2 = field(1, '2.0') + field(2, field(1, 'roundsman') + field(2, '1'));

/** One length-delimited protobuf field, shorter than 128 bytes. */
function field(number: number, value: string): string {
  return String.fromCharCode((number << 3) | 2, value.length) + value;
}

/** Documents are made when they are first asked for; the index names each with its hash, so that clients may cache. */
export function openApiOf(listed: readonly Listed[]): OpenApi {
  const groupVersions = new Map(listed.map(({ kind }) => [kind.group === '' ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`, apiVersionOf(kind)]));
  const made = new Map<string, { document: object; hash: string }>();
  const find = (path: string): { document: object; hash: string } | undefined => {
    const groupVersion = groupVersions.get(path);
    const known = made.get(path);
    if (known || groupVersion === undefined) return known;
    const document = openApiDocument(groupVersion, listed);
    if (document === undefined) return undefined;
    const one = { document, hash: createHash('sha256').update(JSON.stringify(document)).digest('hex').slice(0, 32).toUpperCase() };
    made.set(path, one);
    return one;
  };
  return {
    index: () => ({ paths: Object.fromEntries([...groupVersions.keys()].map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${find(path)?.hash ?? ''}` }])) }),
    document: (path) => find(path)?.document,
  };
}
