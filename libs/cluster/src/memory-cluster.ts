import { isDeepStrictEqual } from 'node:util';
import { matchesLabels, parseLabelSelector, type KubeObject } from '@roundsman/api';
import { ClusterError, type Applied, type Change, type Cluster, type ClusterResource, type Followed } from './cluster.ts';
import { Mirror } from './follow/mirror.ts';
import { resources } from './resources.ts';

type Json = Record<string, unknown>;

/**
 * A Kubernetes API in memory, for specs of controllers: objects are applied, deleted and followed, and nothing happens by itself. Lists are replaced whole when
 * they are applied; deleting does not delete what was owned. Whoever plays the cluster (kubelet, service controller) changes objects with `change`.
 */
export class MemoryCluster implements Cluster {
  readonly server = 'memory';
  /** Group versions beside those of `resources`. */
  readonly groupVersions = new Set(['roundsman.io/v1']);
  /** Called before each request; what it throws is the answer. */
  before: (verb: 'apply' | 'get' | 'list' | 'delete', what: { resource: ClusterResource; namespace?: string | undefined; name?: string }) => void = () => undefined;
  /** What `problem` answers. */
  trouble: string | undefined;
  readonly #objects = new Map<string, KubeObject>();
  /** What was applied last, to take away what is not applied any more. */
  readonly #applied = new Map<string, Json>();
  readonly #followers = new Set<(change: Change<KubeObject>) => void>();
  readonly #kinds: ClusterResource[] = Object.values(resources);
  #version = 0;

  problem(): string | undefined {
    return this.trouble;
  }

  async apply<T extends KubeObject>(object: Applied | KubeObject): Promise<T> {
    const resource = this.#kinds.find(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind);
    if (resource === undefined) throw new ClusterError(`no matches for kind "${object.kind}" in version "${object.apiVersion}"`, 404, 'NotFound');
    const { name, namespace } = object.metadata;
    this.before('apply', { resource, namespace, name });
    const key = keyOf(resource, namespace, name);
    const wanted = structuredClone(object) as unknown as Json;
    const old = this.#objects.get(key);
    const next = merged((old as unknown as Json | undefined) ?? {}, wanted, this.#applied.get(key) ?? {});
    this.#applied.set(key, wanted);
    return structuredClone(this.#put(resource, next)) as T;
  }

  async get<T extends KubeObject>(resource: ClusterResource, namespace: string | undefined, name: string): Promise<T | undefined> {
    this.before('get', { resource, namespace, name });
    return structuredClone(this.#objects.get(keyOf(resource, namespace, name))) as T | undefined;
  }

  async list<T extends KubeObject>(resource: ClusterResource, { namespace, labelSelector, fields = {} }: { namespace?: string; labelSelector?: string; fields?: Readonly<Record<string, string>> } = {}): Promise<T[]> {
    this.before('list', { resource, namespace });
    return structuredClone([...this.#objects.values()].filter((object) => isOf(resource, object) && matches(object, namespace, labelSelector) && Object.entries(fields).every(([path, value]) => memberAt(object, path) === value))) as T[];
  }

  async delete(resource: ClusterResource, namespace: string | undefined, name: string, { uid }: { uid?: string } = {}): Promise<void> {
    this.before('delete', { resource, namespace, name });
    const object = this.#objects.get(keyOf(resource, namespace, name));
    if (object === undefined || (uid !== undefined && object.metadata.uid !== uid)) return;
    if (object.metadata.finalizers?.length) {
      if (object.metadata.deletionTimestamp === undefined) this.#put(resource, { ...object, metadata: { ...object.metadata, deletionTimestamp: new Date().toISOString() } } as unknown as Json);
      return;
    }
    this.#remove(resource, object);
  }

  follow<T extends KubeObject>(resource: ClusterResource, { namespace, labelSelector }: { namespace?: string; labelSelector?: string } = {}): Followed<T> {
    const mirror = new Mirror<T>((error) => {
      throw error;
    });
    const concerns = (object: KubeObject): boolean => isOf(resource, object) && matches(object, namespace, labelSelector);
    const follower = ({ type, object }: Change<KubeObject>): void => {
      if (!isOf(resource, object)) return;
      if (type !== 'DELETED' && concerns(object)) mirror.put(structuredClone(object) as T);
      else mirror.remove(structuredClone(object) as T);
    };
    for (const object of this.#objects.values()) if (concerns(object)) mirror.put(structuredClone(object) as T);
    this.#followers.add(follower);
    return {
      list: () => mirror.list(),
      get: (within, name) => mirror.get(within, name),
      onChange: (listener) => mirror.onChange(listener),
      synced: async () => undefined,
      problem: () => this.trouble,
      stop: () => void this.#followers.delete(follower),
    };
  }

  async serves(groupVersion: string): Promise<boolean> {
    return this.groupVersions.has(groupVersion) || this.#kinds.some(({ apiVersion }) => apiVersion === groupVersion);
  }

  close(): void {
    this.#followers.clear();
  }

  /** Changes an object as somebody else would (its status, mostly), or makes it; it goes once it is being deleted and its last finalizer is taken off. */
  change<T extends KubeObject>(resource: ClusterResource, namespace: string | undefined, name: string, edit: (object: T) => void): T {
    const object = (structuredClone(this.#objects.get(keyOf(resource, namespace, name))) ?? { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } }) as T;
    edit(object);
    const stored = this.#put(resource, object as unknown as Json);
    if (stored.metadata.deletionTimestamp !== undefined && !stored.metadata.finalizers?.length) this.#remove(resource, stored);
    return structuredClone(stored) as T;
  }

  #put(resource: ClusterResource, next: Json): KubeObject {
    const { name, namespace } = next['metadata'] as { name: string; namespace?: string };
    const key = keyOf(resource, namespace, name);
    const before = this.#objects.get(key);
    if (before !== undefined && isDeepStrictEqual(before, next)) return before;
    this.#version += 1;
    const specChanged = before === undefined || !isDeepStrictEqual(before.spec, next['spec']);
    const metadata = {
      uid: crypto.randomUUID(),
      creationTimestamp: new Date().toISOString(),
      ...(next['metadata'] as object),
      generation: (before?.metadata.generation ?? 0) + (specChanged ? 1 : 0),
      resourceVersion: String(this.#version),
    };
    const object = { ...next, metadata } as unknown as KubeObject;
    this.#objects.set(key, object);
    this.#tell({ type: before === undefined ? 'ADDED' : 'MODIFIED', object, before });
    return object;
  }

  #remove(resource: ClusterResource, object: KubeObject): void {
    const key = keyOf(resource, object.metadata.namespace, object.metadata.name);
    this.#objects.delete(key);
    this.#applied.delete(key);
    this.#tell({ type: 'DELETED', object, before: object });
  }

  #tell(change: Change<KubeObject>): void {
    for (const follower of this.#followers) follower(change);
  }
}

const keyOf = ({ apiVersion, plural }: ClusterResource, namespace: string | undefined, name: string): string => `${apiVersion}/${plural}/${namespace ?? ''}/${name}`;
const isOf = ({ apiVersion, kind }: ClusterResource, object: KubeObject): boolean => object.apiVersion === apiVersion && object.kind === kind;

const matches = ({ metadata }: KubeObject, namespace: string | undefined, labelSelector = ''): boolean =>
  (namespace === undefined || metadata.namespace === namespace) && matchesLabels(parseLabelSelector(labelSelector), metadata.labels);

const memberAt = (object: KubeObject, path: string): unknown => path.split('.').reduce<unknown>((within, name) => (isRecord(within) ? within[name] : undefined), object);

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `wanted` over `old`; what was applied before and is not wanted any more goes. */
function merged(old: Json, wanted: Json, applied: Json): Json {
  const next: Json = { ...old };
  for (const key of Object.keys(applied)) if (!(key in wanted)) delete next[key];
  for (const [key, value] of Object.entries(wanted)) {
    const [there, before] = [next[key], applied[key]];
    next[key] = isRecord(value) && isRecord(there) ? merged(there, value, isRecord(before) ? before : {}) : value;
  }
  return next;
}
