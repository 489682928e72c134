import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@roundsman/api';
import type { Informer, Outcome, Seen } from '@roundsman/reconcile';
import { onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withLists, type OwnerReference } from '../owner.ts';
import { foregroundFinalizer, isWaitingForDependents, orphanFinalizer, ownerState } from './owners.ts';

/** Their end is decided elsewhere: tasks/old-rounds.ts. */
const leftAlone: ReadonlySet<string> = new Set(['rounds.roundsman.io']);
/** An object that changed while it was being judged is judged again so soon. */
const againMs = 100;

const references = ({ metadata }: KubeObject): readonly OwnerReference[] => metadata.ownerReferences ?? [];
const endsSpecially = ({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean =>
  deletionTimestamp !== undefined && (finalizers?.includes(foregroundFinalizer) === true || finalizers?.includes(orphanFinalizer) === true);

/**
 * Removes objects whose owners are all gone, makes owners that are deleted in the foreground wait for their dependents, and frees the
 * dependents of those that are deleted as orphans; over all stored kinds. A key is `<resource> <namespace>/<name>`.
 */
export function garbageCollector({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('garbage-collector-controller');
  const keyOf = (resource: string, { metadata }: KubeObject): string => `${resource} ${metadata.namespace ?? ''}/${metadata.name}`;

  function* dependentsOf(uid: string): Generator<{ cache: Informer; object: KubeObject }> {
    for (const cache of caches.all.values()) for (const object of cache.byOwner(uid)) yield { cache, object };
  }
  const blocks = (dependent: KubeObject, uid: string): boolean => references(dependent).some((reference) => reference.uid === uid && reference.blockOwnerDeletion === true);
  const dependentKeys = (uid: string): string[] => Array.from(dependentsOf(uid), ({ cache, object }) => keyOf(cache.resource, object));
  const ownerKeys = (object: KubeObject): string[] =>
    references(object).flatMap(({ uid }) => {
      for (const cache of caches.all.values()) {
        const owner = cache.byUid(uid);
        if (owner !== undefined) return isWaitingForDependents(owner) ? [keyOf(cache.resource, owner)] : [];
      }
      return [];
    });

  /** Whoever may have to go, to wait or to be freed because of a change. */
  function concerned(resource: string, { type, object, before }: Seen<KubeObject>): string[] {
    const { uid } = object.metadata;
    if (type === 'DELETED') return [...dependentKeys(uid), ...ownerKeys(object)];
    const own = references(object).length > 0 || endsSpecially(object) ? [keyOf(resource, object)] : [];
    if (before === undefined) return own;
    const same = isDeepStrictEqual(references(object), references(before)) && isDeepStrictEqual(object.metadata.finalizers, before.metadata.finalizers) && object.metadata.deletionTimestamp === before.metadata.deletionTimestamp;
    if (same) return [];
    const began = isWaitingForDependents(object) && !isWaitingForDependents(before);
    // An owner may wait for one that does not block it any more.
    return [...own, ...(began ? dependentKeys(uid) : []), ...(isDeepStrictEqual(references(object), references(before)) ? [] : ownerKeys(before))];
  }

  async function write(cache: Informer, object: KubeObject, lists: Parameters<typeof withLists>[1]): Promise<void> {
    await objects.update(cache, { ...object, metadata: withLists(object.metadata, lists) });
  }
  const withoutFinalizer = (cache: Informer, object: KubeObject, finalizer: string): Promise<void> =>
    write(cache, object, { finalizers: (object.metadata.finalizers ?? []).filter((one) => one !== finalizer) });

  async function free(cache: Informer, owner: KubeObject): Promise<void> {
    const { uid } = owner.metadata;
    for (const { cache: of, object } of dependentsOf(uid)) await write(of, object, { ownerReferences: references(object).filter((reference) => reference.uid !== uid) });
    await withoutFinalizer(cache, owner, orphanFinalizer);
  }

  /** The dependents go because of their own looks; the last that blocks wakes its owner. */
  async function finish(cache: Informer, owner: KubeObject): Promise<void> {
    const { uid } = owner.metadata;
    for (const { object } of dependentsOf(uid)) if (blocks(object, uid)) return;
    await withoutFinalizer(cache, owner, foregroundFinalizer);
  }

  async function judge(cache: Informer, object: KubeObject): Promise<Outcome | void> {
    const states = await Promise.all(references(object).map(async (reference) => ({ reference, state: await ownerState(caches, object, reference) })));
    for (const { reference, state } of states) {
      if (state !== 'elsewhere' && state !== 'impossible') continue;
      const { apiVersion, kind, name, uid } = reference;
      tell(object, 'Warning', 'OwnerRefInvalidNamespace', `ownerRef [${apiVersion}/${kind}, namespace: ${object.metadata.namespace ?? ''}, name: ${name}, uid: ${uid}] does not exist in namespace "${object.metadata.namespace ?? ''}"`);
    }
    // What cannot be owned so is nobody's garbage.
    const solid = states.filter(({ state }) => state === 'solid' || state === 'impossible').map(({ reference }) => reference);
    if (solid.length > 0) {
      if (solid.length < states.length) await write(cache, object, { ownerReferences: solid });
      return undefined;
    }
    const waiting = states.some(({ state }) => state === 'waiting');
    const own = Array.from(dependentsOf(object.metadata.uid), (dependent) => dependent.object);
    if (waiting && own.length > 0) {
      if (own.some(isWaitingForDependents) && references(object).some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) {
        // They would wait for each other.
        await write(cache, object, { ownerReferences: references(object).map((reference) => ({ ...reference, blockOwnerDeletion: false })) });
        return { againAfterMs: againMs };
      }
      return remove(cache, object, 'Foreground');
    }
    const { finalizers } = object.metadata;
    return remove(cache, object, finalizers?.includes(orphanFinalizer) === true ? 'Orphan' : finalizers?.includes(foregroundFinalizer) === true ? 'Foreground' : 'Background');
  }

  /** Only as it was judged. */
  async function remove(cache: Informer, object: KubeObject, propagationPolicy: 'Orphan' | 'Foreground' | 'Background'): Promise<Outcome | void> {
    const removed = await objects.delete(cache, object, { propagationPolicy, resourceVersion: object.metadata.resourceVersion });
    return removed ? undefined : { againAfterMs: againMs };
  }

  return {
    name: 'garbage',
    concurrency: 16,
    *keys() {
      for (const [resource, cache] of caches.all) for (const object of cache.list()) if (references(object).length > 0 || endsSpecially(object)) yield keyOf(resource, object);
    },
    wakes: Array.from(caches.all, ([resource, cache]) => onChange(cache, (seen) => concerned(resource, seen))),
    async reconcile(key) {
      const [resource = '', path = ''] = key.split(' ');
      const cache = caches.all.get(resource);
      const [namespace, name = ''] = path.split('/');
      const object = cache?.get(namespace, name);
      if (cache === undefined || object === undefined) return undefined;
      if (object.metadata.deletionTimestamp !== undefined) {
        if (object.metadata.finalizers?.includes(orphanFinalizer) === true) await free(cache, object);
        else if (isWaitingForDependents(object)) await finish(cache, object);
        return undefined;
      }
      return references(object).length === 0 || leftAlone.has(resource) ? undefined : judge(cache, object);
    },
  };
}
