import { forbidden, notFound, storageAnnotations, storageFinalizers, type KubeObject, type PersistentVolumeSpec } from '@roundsman/api';
import { admit } from './admit.ts';
import type { Admitted, AdmissionView, WriteRequest } from './outcome.ts';

const volumes = { plural: 'persistentvolumes', group: '' };

/** The node that is to remove the directory of a volume that goes. None is from the moment on that somebody says that it is to be retained after all. */
export function removerOf({ metadata, spec }: KubeObject): string | undefined {
  if (metadata.deletionTimestamp === undefined || (spec as PersistentVolumeSpec).persistentVolumeReclaimPolicy !== 'Delete') return undefined;
  return metadata.finalizers?.includes(storageFinalizers.directory) === true ? metadata.annotations?.[storageAnnotations.removedBy] : undefined;
}
export const isToRemove = (volume: KubeObject, node: string): boolean => removerOf(volume) === node;

interface Named {
  readonly name: string;
  readonly uid: string;
}

/** The volume as stored, whose directory the node is to remove. */
function volumeOf(node: string, { name, uid }: Named, view: AdmissionView): KubeObject {
  const volume = view.admitted('persistentvolumes', undefined, name);
  if (volume === undefined || volume.metadata.uid !== uid) throw notFound(volumes, name);
  if (!isToRemove(volume, node)) throw forbidden(volumes, name, `node ${JSON.stringify(node)} was not asked to remove the directory of this volume`);
  return volume;
}

/** The directory is gone, says the agent whose business it was: nothing of it holds the volume back any more. */
export function volumeRemoved(node: string, named: Named, write: WriteRequest, view: AdmissionView): Admitted {
  const volume = volumeOf(node, named, view);
  const finalizers = (volume.metadata.finalizers ?? []).filter((one) => one !== storageFinalizers.directory);
  return admit({ ...write, object: { ...volume, metadata: { ...volume.metadata, finalizers } } }, view);
}

/** The directory cannot be removed now: shown on the volume. */
export function volumeKept(node: string, named: Named & { readonly message: string }, write: WriteRequest, view: AdmissionView): Admitted {
  const volume = volumeOf(node, named, view);
  return admit({ ...write, object: { ...volume, status: { ...(volume.status as object | undefined), phase: 'Failed', message: named.message } } }, view);
}
