import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@roundsman/api';

export interface TableChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  readonly before: T | undefined;
}

interface Row<T> {
  readonly uid: string | undefined;
  readonly version: number | undefined;
  readonly seen: T;
}

/** The objects of one resource by name, each as `view` shows it; tells what has changed in that view. */
export class ObjectTable<T> {
  readonly #rows = new Map<string, Row<T>>();
  readonly #view: (object: KubeObject) => T;
  readonly #told: (change: TableChange<T>) => void;

  constructor(view: (object: KubeObject) => T, told: (change: TableChange<T>) => void) {
    this.#view = view;
    this.#told = told;
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#rows.get(`${namespace ?? ''}/${name}`)?.seen;
  }

  list(): T[] {
    return Array.from(this.#rows.values(), ({ seen }) => seen);
  }

  /** What is older than what is known of this very object changes nothing. */
  put(object: KubeObject): void {
    const row = this.#rows.get(keyOf(object));
    if (row !== undefined && row.uid === object.metadata.uid && isOlder(versionOf(object), row.version)) return;
    this.#set(object, row);
  }

  /** Nothing when another one has its name by now. */
  remove(object: KubeObject): void {
    const key = keyOf(object);
    const row = this.#rows.get(key);
    if (row !== undefined && row.uid === object.metadata.uid && !isOlder(versionOf(object), row.version)) this.#drop(key, row);
  }

  /** Whatever was known: these are all, as they are. */
  replace(objects: readonly KubeObject[]): void {
    const listed = new Set(objects.map(keyOf));
    for (const [key, row] of this.#rows) if (!listed.has(key)) this.#drop(key, row);
    for (const object of objects) this.#set(object, this.#rows.get(keyOf(object)));
  }

  #set(object: KubeObject, row: Row<T> | undefined): void {
    const key = keyOf(object);
    let before = row;
    if (before !== undefined && before.uid !== object.metadata.uid) {
      this.#drop(key, before);
      before = undefined;
    }
    const seen = this.#view(object);
    const same = before !== undefined && isDeepStrictEqual(before.seen, seen);
    this.#rows.set(key, { uid: object.metadata.uid, version: versionOf(object), seen });
    if (!same) this.#told({ type: before === undefined ? 'ADDED' : 'MODIFIED', object: seen, before: before?.seen });
  }

  #drop(key: string, row: Row<T>): void {
    this.#rows.delete(key);
    this.#told({ type: 'DELETED', object: row.seen, before: row.seen });
  }
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** undefined: it was never stored, so it is as new as any. */
function versionOf({ metadata }: KubeObject): number | undefined {
  const version = Number(metadata.resourceVersion);
  return Number.isNaN(version) ? undefined : version;
}
const isOlder = (version: number | undefined, than: number | undefined): boolean => version !== undefined && than !== undefined && version < than;
