import { kindByGvk, resourceKey, type KubeObject } from '@roundsman/api';
import type { Caches } from '../caches.ts';
import type { OwnerReference } from '../owner.ts';

/** What `metadata.finalizers` hold while an owner waits until its dependents are gone, or are left alone. */
export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

export const isWaitingForDependents = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foregroundFinalizer) === true;

/**
 * What becomes of an object because of one of its owners. `solid`: it is there, or nobody here can tell (an unknown kind, a kind that is not
 * stored); `waiting`: it waits until its dependents are gone; `absent`: it is gone; `elsewhere`: gone, too, but one with its uid lives in another
 * namespace; `impossible`: a namespaced owner of what is in no namespace.
 */
export type OwnerState = 'solid' | 'waiting' | 'absent' | 'elsewhere' | 'impossible';

/** Looks into the cache, and for what it does not have into the store itself. */
export async function ownerState(caches: Caches, dependent: KubeObject, { apiVersion, kind: kindName, name, uid }: OwnerReference): Promise<OwnerState> {
  const slash = apiVersion.indexOf('/');
  const kind = kindByGvk(slash < 0 ? '' : apiVersion.slice(0, slash), apiVersion.slice(slash + 1), kindName);
  if (kind === undefined || kind.virtual === true) return 'solid';
  const { namespace } = dependent.metadata;
  if (kind.namespaced && namespace === undefined) return 'impossible';
  const resource = resourceKey(kind);
  const within = kind.namespaced ? namespace : undefined;
  const cached = caches.all.get(resource)?.byUid(uid);
  const there = cached !== undefined && cached.metadata.namespace === within ? cached : await caches.stored(resource, within, name);
  if (there?.metadata.uid === uid) return isWaitingForDependents(there) ? 'waiting' : 'solid';
  return cached === undefined ? 'absent' : 'elsewhere';
}
