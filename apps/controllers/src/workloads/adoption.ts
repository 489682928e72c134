import { matchesLabels, requirementsOf, type KubeObject, type ObjectSelector } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Deps } from '../loop.ts';
import { controllerOf, controllerReference, isControlledBy, withLists } from '../owner.ts';

export interface Claim<T extends KubeObject> {
  /** The workload that claims, and the cache that it is from. */
  readonly owner: KubeObject;
  readonly owners: Informer;
  readonly selector: ObjectSelector;
  /** What is claimed: a cache with the index `orphansIn`. */
  readonly cache: Informer<T>;
  /** Others are left as they are: pods that have ended, for most workloads. */
  readonly considered?: (object: T) => boolean;
}

/**
 * What an owner manages: its own as long as they match its selector (others are released), and orphans that match (they are adopted). An
 * owner that is being deleted adopts and releases nothing. Throws when an object changed meanwhile: look again.
 */
export async function claimed<T extends KubeObject>({ caches, objects }: Pick<Deps, 'caches' | 'objects'>, { owner, owners, selector, cache, considered = () => true }: Claim<T>): Promise<T[]> {
  const requirements = requirementsOf(selector);
  const matches = ({ metadata }: T): boolean => matchesLabels(requirements, metadata.labels);
  const ends = owner.metadata.deletionTimestamp !== undefined;
  const mine: T[] = [];
  for (const object of cache.byOwner(owner.metadata.uid)) {
    if (!isControlledBy(object, owner) || !considered(object)) continue;
    if (matches(object)) mine.push(object);
    else if (!ends) await release(objects, cache, object, owner);
  }
  if (ends) return mine;
  const orphans = cache
    .by('orphansIn', owner.metadata.namespace ?? '')
    .filter((object) => object.metadata.deletionTimestamp === undefined && matches(object) && considered(object));
  if (orphans.length === 0) return mine;
  // A cache may still show an owner that is gone: what it took would be collected.
  const { namespace, name, uid } = owner.metadata;
  const stored = await caches.stored(owners.resource, namespace, name);
  if (stored?.metadata.uid !== uid || stored.metadata.deletionTimestamp !== undefined) return mine;
  for (const orphan of orphans) {
    const adopted = await adopt(objects, cache, orphan, owner);
    if (adopted !== undefined) mine.push(adopted);
  }
  return mine;
}

/** Which owners an object that nobody manages may belong to, by their selectors. */
export function ownersForOrphan<T extends KubeObject<{ selector?: ObjectSelector | undefined }>>(owners: Informer<T>, { metadata }: KubeObject): T[] {
  return owners.by('namespace', metadata.namespace ?? '').filter(({ spec: { selector } }) => selector !== undefined && matchesLabels(requirementsOf(selector), metadata.labels));
}

/** The owners that a change of a managed object (or of an orphan) concerns: those it had, has, or may get. */
export function ownersConcerned<T extends KubeObject<{ selector?: ObjectSelector | undefined }>>(owners: Informer<T>, object: KubeObject, before: KubeObject | undefined): T[] {
  const references = [controllerOf(object), before && controllerOf(before)];
  const managing = references.flatMap((reference) => (reference === undefined ? [] : (owners.byUid(reference.uid) ?? [])));
  return controllerOf(object) === undefined ? [...managing, ...ownersForOrphan(owners, object)] : managing;
}

async function adopt<T extends KubeObject>(objects: Deps['objects'], cache: Informer<T>, orphan: T, owner: KubeObject): Promise<T | undefined> {
  const ownerReferences = [...(orphan.metadata.ownerReferences ?? []), controllerReference(owner)];
  return unlessGone(() => objects.update(cache, { ...orphan, metadata: { ...orphan.metadata, ownerReferences } }));
}

async function release<T extends KubeObject>(objects: Deps['objects'], cache: Informer<T>, object: T, owner: KubeObject): Promise<void> {
  const ownerReferences = (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
  await unlessGone(() => objects.update(cache, { ...object, metadata: withLists(object.metadata, { ownerReferences }) }));
}

async function unlessGone<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 404) return undefined;
    throw error;
  }
}
