import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { StoredState } from '@roundsman/store';

/** An object as it stands after a change that is on its way to the disk; undefined: deleted. */
interface Pending {
  readonly version: number;
  readonly object: KubeObject | undefined;
}

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/**
 * Every current object in memory. Readers see what is committed; admission sees what has been admitted, so that writes can be
 * judged while those before them are still being written. Objects in here are never changed, only replaced.
 */
export class State {
  readonly #committed = new Map<string, Map<string, KubeObject>>();
  readonly #pending = new Map<string, Map<string, Pending>>();
  readonly #lastOfResource: Map<string, number>;
  /** Version of the last committed change. */
  head: number;
  /** Version of the last admitted change. */
  admittedHead: number;
  readonly #admittedOfResource = new Map<string, number>();
  readonly #listeners = new Map<string, (before: KubeObject | undefined, after: KubeObject | undefined) => void>();

  constructor(stored: StoredState) {
    this.head = stored.head;
    this.admittedHead = stored.head;
    this.#lastOfResource = new Map(stored.lastOfResource);
    for (const { resource, namespace, name, object } of stored.objects) this.#of(resource).set(keyOf(namespace, name), object);
  }

  #of(resource: string): Map<string, KubeObject> {
    let objects = this.#committed.get(resource);
    if (objects === undefined) this.#committed.set(resource, (objects = new Map()));
    return objects;
  }

  get(resource: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#committed.get(resource)?.get(keyOf(namespace ?? '', name));
  }

  /** As it will be when everything admitted is committed. */
  admitted(resource: string, namespace: string | undefined, name: string): KubeObject | undefined {
    const key = keyOf(namespace ?? '', name);
    const pending = this.#pending.get(resource)?.get(key);
    return pending === undefined ? this.#committed.get(resource)?.get(key) : pending.object;
  }

  list(resource: string): KubeObject[] {
    return [...(this.#committed.get(resource)?.values() ?? [])];
  }

  /** All of a resource as they will be when everything admitted is committed. */
  admittedList(resource: string): KubeObject[] {
    const pending = this.#pending.get(resource);
    if (pending === undefined || pending.size === 0) return this.list(resource);
    const objects = new Map(this.#committed.get(resource));
    for (const [key, { object }] of pending) {
      if (object === undefined) objects.delete(key);
      else objects.set(key, object);
    }
    return [...objects.values()];
  }

  /** Resources with the number of their committed objects. */
  counts(): [resource: string, count: number][] {
    return [...this.#committed].map(([resource, objects]) => [resource, objects.size]);
  }

  /** Committed objects of a namespace, over all resources. */
  *inNamespace(namespace: string): Generator<{ resource: string; object: KubeObject }> {
    for (const [resource, objects] of this.#committed) {
      for (const object of objects.values()) if (object.metadata.namespace === namespace) yield { resource, object };
    }
  }

  lastOfResource(): Record<string, number> {
    return Object.fromEntries(this.#lastOfResource);
  }

  admittedOfResource(resource: string): number {
    return this.#admittedOfResource.get(resource) ?? this.#lastOfResource.get(resource) ?? 0;
  }

  /** Calls a listener with each admitted change of a resource; undefined: not there. One per resource. */
  onAdmitted(resource: string, listener: (before: KubeObject | undefined, after: KubeObject | undefined) => void): void {
    this.#listeners.set(resource, listener);
  }

  /** Notes an admitted change; it counts for admission from now on. */
  admit(change: Change): void {
    const after = change.type === 'DELETED' ? undefined : (change.object as unknown as KubeObject);
    this.#listeners.get(change.resource)?.(this.admitted(change.resource, change.namespace, change.name), after);
    this.admittedHead = change.version;
    this.#admittedOfResource.set(change.resource, change.version);
    let pending = this.#pending.get(change.resource);
    if (pending === undefined) this.#pending.set(change.resource, (pending = new Map()));
    pending.set(keyOf(change.namespace, change.name), { version: change.version, object: after });
  }

  /** Changes are on the disk: readers see them. */
  commit(changes: readonly Change[]): void {
    for (const change of changes) {
      const key = keyOf(change.namespace, change.name);
      if (change.type === 'DELETED') this.#of(change.resource).delete(key);
      else this.#of(change.resource).set(key, change.object as unknown as KubeObject);
      this.#lastOfResource.set(change.resource, change.version);
      this.head = change.version;
      const pending = this.#pending.get(change.resource);
      // A newer change of the same object may be on its way.
      if (pending?.get(key)?.version === change.version) pending.delete(key);
    }
  }
}
