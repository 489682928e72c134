import { isDeepStrictEqual } from 'node:util';
import { builtInNamespaces, conflict, forbidden, systemPriorities, type Kind, type KubeObject, type StoredMeta } from '@roundsman/api';
import { admitted, timestamp, unchanged, type Admitted, type AdmissionView, type WriteRequest } from './outcome.ts';

/** The user in whose name emptied namespaces are removed. */
export const namespaceSweeper = 'system:roundsman:intake/namespaces';

/** Finalizers by which an owner waits for its dependents, or leaves them behind; `controllers` take them off when that is done. */
const foregroundFinalizer = 'foregroundDeletion';
const orphanFinalizer = 'orphan';

export const isNamespace = ({ plural, group }: Kind): boolean => plural === 'namespaces' && group === '';
const isSystemPriority = ({ plural, group }: Kind, name: string): boolean => plural === 'priorityclasses' && group === 'scheduling.k8s.io' && Object.hasOwn(systemPriorities, name);

export function checkPreconditions(kind: Kind, { metadata }: KubeObject, { preconditions }: Pick<WriteRequest, 'preconditions'>): void {
  const { name, uid, resourceVersion } = metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) throw conflict(kind, name, `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`);
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    throw conflict(kind, name, `Precondition failed: ResourceVersion in precondition: ${preconditions.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`);
  }
}

/** Removes an object, or marks it while something has to happen first: its end on a node, its finalizers, the emptying of a namespace. */
export function remove(kind: Kind, old: KubeObject, write: WriteRequest, view: AdmissionView): Admitted {
  checkPreconditions(kind, old, write);
  const { name } = old.metadata;
  if (isNamespace(kind) && (builtInNamespaces as readonly string[]).includes(name)) throw forbidden(kind, name, 'this namespace may not be deleted');
  if (isSystemPriority(kind, name)) throw forbidden(kind, name, 'this is a system priority class and cannot be deleted');
  // A namespace goes when it is empty: namespaces.ts empties it and then deletes it in its own name.
  if (isNamespace(kind) && write.user === namespaceSweeper && (old.metadata.finalizers ?? []).length === 0) return admitted(kind, 'DELETED', { ...old, metadata: { ...old.metadata } }, [], write);
  if (old.metadata.deletionTimestamp !== undefined) return removeAgain(kind, old, write);

  const seconds = graceOf(kind, old, write);
  const finalizers = finalizersFor(kind, old.metadata, write.propagationPolicy);
  const waits = seconds > 0 || finalizers.length > 0 || isNamespace(kind);
  if (!waits && kind.graceful === undefined) return admitted(kind, 'DELETED', { ...old, metadata: { ...old.metadata } }, [], write);
  const metadata = marked(old.metadata, view.now + seconds * 1000, seconds, finalizers);
  if (old.metadata.generation !== undefined) metadata.generation = old.metadata.generation + 1;
  return admitted(kind, waits ? 'MODIFIED' : 'DELETED', { ...old, metadata, ...(isNamespace(kind) && { status: { ...(old.status as object | undefined), phase: 'Terminating' } }) }, [], write);
}

/** A second deletion only ever shortens the time that is left; and what it says of the dependents holds, unless it is to wait as long as the first. */
function removeAgain(kind: Kind, old: KubeObject, write: WriteRequest): Admitted {
  const { deletionTimestamp = '', deletionGracePeriodSeconds: given = 0, finalizers: before = [] } = old.metadata;
  const seconds = Math.min(write.gracePeriodSeconds ?? given, given);
  if (given > 0 && seconds === given) return unchanged(kind, old);
  const finalizers = finalizersFor(kind, old.metadata, write.propagationPolicy);
  if (seconds === given && isDeepStrictEqual(finalizers, before) && (before.length > 0 || isNamespace(kind))) return unchanged(kind, old);
  const metadata = marked(old.metadata, Date.parse(deletionTimestamp) + (seconds - given) * 1000, seconds, finalizers);
  return admitted(kind, seconds > 0 || finalizers.length > 0 || isNamespace(kind) ? 'MODIFIED' : 'DELETED', { ...old, metadata }, [], write);
}

function marked(old: StoredMeta, endMs: number, seconds: number, finalizers: string[]): StoredMeta {
  const { finalizers: _before, ...rest } = old;
  return { ...rest, deletionTimestamp: timestamp(endMs), deletionGracePeriodSeconds: seconds, ...(finalizers.length > 0 && { finalizers }) };
}

/** Seconds the object is given to end; 0: it goes at once. */
function graceOf({ graceful }: Kind, old: KubeObject, write: WriteRequest): number {
  const own = graceful?.seconds(old);
  return own === undefined ? 0 : (write.gracePeriodSeconds ?? own);
}

/** What was said last about its dependents holds; nothing said leaves it as it is, and to a kind that is deleted for the first time what is usual for it. */
function finalizersFor({ orphans }: Kind, { finalizers = [], deletionTimestamp }: StoredMeta, asked: WriteRequest['propagationPolicy']): string[] {
  const said = finalizers.includes(foregroundFinalizer) || finalizers.includes(orphanFinalizer) || deletionTimestamp !== undefined;
  const policy = asked ?? (orphans === true && !said ? 'Orphan' : undefined);
  if (policy === undefined) return finalizers;
  const others = finalizers.filter((one) => one !== foregroundFinalizer && one !== orphanFinalizer);
  if (policy === 'Orphan') return [...others, orphanFinalizer];
  return policy === 'Foreground' ? [...others, foregroundFinalizer] : others;
}

/** Whether an update takes away the last thing that held an object back. */
export const endsWith = (kind: Kind, old: StoredMeta, next: StoredMeta): boolean =>
  old.deletionTimestamp !== undefined && (old.deletionGracePeriodSeconds ?? 0) === 0 && (next.finalizers ?? []).length === 0 && !isNamespace(kind);
