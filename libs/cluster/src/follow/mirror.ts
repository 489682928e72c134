import type { KubeObject } from '@roundsman/api';
import type { Change } from '../cluster.ts';

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** Objects in memory and those who want to hear of changes. A name that came back under another uid is told as gone and as new. */
export class Mirror<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #onThrown: (error: unknown) => void;

  constructor(onThrown: (error: unknown) => void) {
    this.#onThrown = onThrown;
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  put(object: T): void {
    // Which manager set which field is most of an object and nobody's business here.
    delete object.metadata.managedFields;
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (before?.metadata.uid === object.metadata.uid) {
      if (before.metadata.resourceVersion === object.metadata.resourceVersion) return;
      this.#objects.set(key, object);
      return this.#tell({ type: 'MODIFIED', object, before });
    }
    if (before !== undefined) this.remove(before);
    this.#objects.set(key, object);
    this.#tell({ type: 'ADDED', object, before: undefined });
  }

  remove(object: T): void {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (before === undefined || before.metadata.uid !== object.metadata.uid) return;
    this.#objects.delete(key);
    this.#tell({ type: 'DELETED', object, before });
  }

  /** These are all there are. */
  replace(objects: readonly T[]): void {
    const there = new Set(objects.map(({ metadata }) => keyOf(metadata.namespace, metadata.name)));
    for (const [key, object] of this.#objects) if (!there.has(key)) this.remove(object);
    for (const object of objects) this.put(object);
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#onThrown(error);
      }
    }
  }
}
