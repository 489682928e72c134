import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { ChangeFeed, Following } from './feed.ts';
import type { ObjectSource } from './source.ts';

/** What happened to one object; `before` is what the cache held. */
export interface Seen<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  readonly before: T | undefined;
}

/** What objects can be looked up by besides name, uid, owner and labels: name of the index -> the value of an object in it, undefined: not in it. */
export type Indexes<T> = Readonly<Record<string, (object: T) => string | undefined>>;

export interface InformerOptions<T = KubeObject> {
  readonly source: ObjectSource;
  readonly feed: Pick<ChangeFeed, 'follow'>;
  readonly resource: string;
  /** Labels by which objects can be looked up. */
  readonly labels?: readonly string[];
  readonly indexes?: Indexes<T>;
  readonly log?: { warn(fields: object, message: string): void };
}

export const versionOf = (object: KubeObject): number => Number(object.metadata.resourceVersion);
const nameKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** All objects of one resource in memory, kept current; many readers, no reads of the store. Objects in it are shared: never change them. */
export class Informer<T extends KubeObject = KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #objects = new Map<string, T>();
  readonly #byUid = new Map<string, string>();
  /** `owner:<uid>`, `label:<name>=<value>` and `index:<name>=<value>` -> name keys. */
  readonly #indexes = new Map<string, Set<string>>();
  readonly #handlers = new Set<(seen: Seen<T>) => void>();
  #following: Following | undefined;
  #listing: Promise<void> | undefined;
  #problem: string | undefined = 'not listed yet';
  readonly #stop = new AbortController();

  constructor(options: InformerOptions<T>) {
    this.#options = options;
  }

  get resource(): string {
    return this.#options.resource;
  }

  /** Resolves when the first list is in; tries until then. */
  async start(): Promise<void> {
    await this.#relist();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#following?.stop();
    await this.#listing;
  }

  /** Every change up to this version is in the cache. */
  get position(): number {
    return this.#problem === undefined ? (this.#following?.position ?? 0) : 0;
  }

  /** For readiness: why the cache is not current. */
  problem(): string | undefined {
    return this.#problem === undefined ? undefined : `${this.#options.resource}: ${this.#problem}`;
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(nameKey(namespace, name));
  }

  byUid(uid: string): T | undefined {
    const key = this.#byUid.get(uid);
    return key === undefined ? undefined : this.#objects.get(key);
  }

  byOwner(uid: string): T[] {
    return this.#indexed(`owner:${uid}`);
  }

  byLabel(label: string, value: string): T[] {
    if (this.#options.labels?.includes(label) !== true) throw new Error(`the cache of ${this.#options.resource} has no index on label ${label}`);
    return this.#indexed(`label:${label}=${value}`);
  }

  /** By an index of the options. */
  by(index: string, value: string): T[] {
    if (this.#options.indexes?.[index] === undefined) throw new Error(`the cache of ${this.#options.resource} has no index ${index}`);
    return this.#indexed(`index:${index}=${value}`);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Called after the cache has changed, synchronously; must not throw. Those already there are told as ADDED when the list comes in. */
  onChange(handler: (seen: Seen<T>) => void): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** Takes over an object from the answer to one's own write (of a deletion: with its deletionTimestamp), so that the next look sees it before the message comes. */
  observe(object: T): void {
    // Told already, perhaps even that it is gone again.
    if (versionOf(object) <= (this.#following?.position ?? 0)) return;
    this.#put(object);
  }

  #relist(): Promise<void> {
    this.#listing ??= this.#list().finally(() => (this.#listing = undefined));
    return this.#listing;
  }

  async #list(): Promise<void> {
    const { source, resource, feed, log } = this.#options;
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      try {
        const followed = this.#following?.position ?? 0;
        const { version, items } = await source.list(resource);
        if (this.#stop.signal.aborted) return;
        this.#replace(items as T[], version, version < followed);
        this.#following = feed.follow({
          resource,
          since: version,
          change: (change) => this.#apply(change),
          relist: (reason) => {
            this.#problem = `listing again: ${reason}`;
            // The feed hands over from inside its own loop: let that end first.
            queueMicrotask(() => void this.#relist());
          },
        });
        this.#problem = undefined;
        return;
      } catch (error) {
        failures += 1;
        this.#problem = `cannot list: ${error instanceof Error ? error.message : String(error)}`;
        log?.warn({ err: error, resource, failures }, 'cannot list objects; trying again');
        await pause(Math.min(5000, 50 * 2 ** failures), this.#stop.signal);
      }
    }
  }

  /** `older`: the list is older than what was followed, so the database was put back: versions say nothing about what is newer. */
  #replace(items: readonly T[], version: number, older: boolean): void {
    const listed = new Set(items.map((item) => nameKey(item.metadata.namespace, item.metadata.name)));
    for (const [key, object] of this.#objects) {
      // One's own writes may be newer than the list.
      if (!listed.has(key) && (older || versionOf(object) <= version)) this.#remove(key, object);
    }
    for (const item of items) this.#put(item, older);
  }

  #apply(change: Change): void {
    const object = change.object as unknown as T;
    if (change.type !== 'DELETED') {
      this.#put(object);
      return;
    }
    const key = nameKey(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    // Equal: the answer to one's own deletion was taken over.
    if (known !== undefined && versionOf(known) <= change.version) this.#remove(key, object);
  }

  #put(object: T, whatever = false): void {
    const key = nameKey(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (before !== undefined && !whatever && versionOf(before) >= versionOf(object)) return;
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) {
      // Deleted and made anew while we were not told.
      this.#remove(key, before);
      this.#put(object, whatever);
      return;
    }
    if (before !== undefined) this.#unindex(key, before);
    this.#objects.set(key, object);
    this.#byUid.set(object.metadata.uid, key);
    for (const index of this.#indexesOf(object)) {
      const keys = this.#indexes.get(index);
      if (keys === undefined) this.#indexes.set(index, new Set([key]));
      else keys.add(key);
    }
    this.#tell({ type: before === undefined ? 'ADDED' : 'MODIFIED', object, before });
  }

  #remove(key: string, last: T): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#unindex(key, before);
    this.#objects.delete(key);
    this.#byUid.delete(before.metadata.uid);
    this.#tell({ type: 'DELETED', object: last, before });
  }

  #unindex(key: string, object: T): void {
    for (const index of this.#indexesOf(object)) {
      const keys = this.#indexes.get(index);
      keys?.delete(key);
      if (keys?.size === 0) this.#indexes.delete(index);
    }
  }

  #indexesOf(object: T): string[] {
    const { ownerReferences, labels } = object.metadata;
    const indexes = (ownerReferences ?? []).map(({ uid }) => `owner:${uid}`);
    for (const label of this.#options.labels ?? []) if (labels?.[label] !== undefined) indexes.push(`label:${label}=${labels[label]}`);
    for (const [name, valueOf] of Object.entries(this.#options.indexes ?? {})) {
      const value = valueOf(object);
      if (value !== undefined) indexes.push(`index:${name}=${value}`);
    }
    return indexes;
  }

  #indexed(index: string): T[] {
    return [...(this.#indexes.get(index) ?? [])].map((key) => this.#objects.get(key) as T);
  }

  #tell(seen: Seen<T>): void {
    for (const handler of this.#handlers) handler(seen);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
