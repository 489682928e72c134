import type { KubeObject } from '@roundsman/api';
import type { Bus } from '@roundsman/bus';
import type { Cluster } from '@roundsman/cluster';
import type { EventRecorder, Informer, Reconcile, Seen } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { Caches } from './caches.ts';
import type { Objects } from './objects.ts';
import type { Settings } from './settings.ts';

/** What a controller is made from. */
export interface Deps {
  readonly caches: Caches;
  readonly objects: Objects;
  readonly recorder: EventRecorder;
  readonly bus: Bus;
  /** The Kubernetes API in which task runtimes are made; undefined: none are. What a loop follows in it ends with its term. */
  readonly cluster: Cluster | undefined;
  readonly settings: Settings;
  readonly log: Logger;
}

/** Connects something that happens to the keys that it concerns; the answer ends it. */
export type Wake = (wake: (key: string) => void) => (() => unknown) | Promise<() => unknown>;

/**
 * One reconcile loop. A controller is a folder that exports `(deps: Deps) => LoopDefinition` (several, where it has several loops) and one line
 * in controllers.ts. Loops run only on the leader, each term with a new definition: what they keep in memory is a cache, never the only copy.
 */
export interface LoopDefinition {
  /** In logs and metrics: `replicasets`. */
  readonly name: string;
  /** Every key there is now; all are looked at when the term begins and again every `resyncMs`. */
  readonly keys: () => Iterable<string>;
  readonly reconcile: Reconcile;
  /** Whatever makes a key worth a look before that. */
  readonly wakes: readonly Wake[];
  /** Keys at the same time; default 4. */
  readonly concurrency?: number;
  /** Default 60 s. */
  readonly resyncMs?: number;
}

/** Wakes the keys that a change of an object concerns. `keysOf` is called synchronously and must not throw. */
export const onChange =
  <T extends KubeObject>(informer: Informer<T>, keysOf: (seen: Seen<T>) => Iterable<string>): Wake =>
  (wake) =>
    informer.onChange((seen) => {
      for (const key of keysOf(seen)) wake(key);
    });

/** `default/name`, `/name` for cluster-scoped objects. */
export const objectKey = ({ metadata }: Pick<KubeObject, 'metadata'>): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** The keys of all objects of a cache. */
export const keysOf = (informer: Informer) => (): string[] => informer.list().map(objectKey);

/** Wakes the object itself. */
export const onOwnChange = (informer: Informer): Wake => onChange(informer, ({ object }) => [objectKey(object)]);

/** The object of an `objectKey`. */
export function byKey<T extends KubeObject>(informer: Informer<T>, key: string): T | undefined {
  const [namespace, name = ''] = key.split('/');
  return informer.get(namespace, name);
}
