import type { KubeObject } from '@roundsman/api';

/** A page stops here, well below what one message may carry. */
export const pageBytes = 700_000;

export interface Page<T> {
  readonly items: T[];
  /** Key of the last one, when there are more. */
  readonly next?: string;
}

/** The first of what comes after a key, in the order of keys: at least one, no more than `limit`, as many as one message carries. */
export function pageOf<T>(all: readonly T[], keyOf: (one: T) => string, { after, limit = Number.POSITIVE_INFINITY }: { after?: string | undefined; limit?: number }): Page<T> {
  const keyed = all
    .map((one) => ({ key: keyOf(one), one }))
    .filter(({ key }) => after === undefined || key > after)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const items: T[] = [];
  let bytes = 0;
  let last = '';
  for (const { key, one } of keyed) {
    if (items.length === limit) break;
    bytes += Buffer.byteLength(JSON.stringify(one));
    if (bytes > pageBytes && items.length > 0) break;
    items.push(one);
    last = key;
  }
  return items.length < keyed.length ? { items, next: last } : { items };
}

/** `namespace/name`. */
export const nameKey = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
