import { isBoundClaim, isClaimedBy, storageAnnotations, type PersistentVolume, type PersistentVolumeClaim } from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';

type Annotations = Record<string, string>;

/** The volume with a reference to its claim: from now on it is nobody else's. Itself when it says so already. */
export function claimedVolume(volume: PersistentVolume, { apiVersion, kind, metadata }: PersistentVolumeClaim): PersistentVolume {
  const before = volume.spec.claimRef;
  if (before?.uid === metadata.uid) return volume;
  const { namespace, name, uid, resourceVersion } = metadata;
  const annotations: Annotations = { ...volume.metadata.annotations, ...(before === undefined && { [storageAnnotations.boundByController]: 'yes' }) };
  return { ...volume, metadata: { ...volume.metadata, annotations }, spec: { ...volume.spec, claimRef: { apiVersion, kind, namespace, name, uid, resourceVersion } } };
}

/** The claim with the volume that it was given; itself when it says so already. */
export function boundClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  if (isBoundClaim(claim)) return claim;
  const chosen = (claim.spec.volumeName ?? '') === '';
  const annotations: Annotations = { ...claim.metadata.annotations, [storageAnnotations.bindCompleted]: 'yes', ...(chosen && { [storageAnnotations.boundByController]: 'yes' }) };
  return { ...claim, metadata: { ...claim.metadata, annotations }, spec: { ...claim.spec, volumeName: volume.metadata.name } };
}

export const boundStatus = (volume: PersistentVolume): PersistentVolumeClaim['status'] => ({ phase: 'Bound', accessModes: volume.spec.accessModes, capacity: volume.spec.capacity });

/** The volume without its claim; one that was set aside by name stays so. */
export function freedVolume(volume: PersistentVolume): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  const { [storageAnnotations.boundByController]: chosen, ...annotations } = volume.metadata.annotations ?? {};
  const { uid: _uid, resourceVersion: _version, ...reserved } = claimRef ?? {};
  return { ...volume, metadata: { ...volume.metadata, annotations }, spec: chosen !== undefined || claimRef === undefined ? spec : { ...spec, claimRef: reserved } };
}

export const volumeStatus = (volume: PersistentVolume, phase: NonNullable<PersistentVolume['status']>['phase'], why: { reason?: string; message?: string } = {}): PersistentVolume['status'] => ({
  phase,
  ...why,
  lastPhaseTransitionTime: volume.status?.phase === phase && volume.status.lastPhaseTransitionTime != null ? volume.status.lastPhaseTransitionTime : wholeSeconds(Date.now()),
});

/** What a claim that is bound should do, seen from its side. `volume`: the one that it names, if there is such a one. */
export function fateOfBound(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): 'keep' | 'bind' | { readonly reason: string; readonly message: string } {
  if ((claim.spec.volumeName ?? '') === '') return { reason: 'ClaimLost', message: 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!' };
  if (volume === undefined) return { reason: 'ClaimLost', message: 'Bound claim has lost its PersistentVolume. Data on the volume is lost!' };
  if (volume.spec.claimRef === undefined) return 'bind';
  if (isClaimedBy(volume, claim)) return (volume.spec.claimRef.uid ?? '') === '' ? 'bind' : 'keep';
  return { reason: 'ClaimMisbound', message: 'Two claims are bound to the same volume, this one is bound incorrectly' };
}
