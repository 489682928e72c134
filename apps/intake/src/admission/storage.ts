import { classOfClaim, compareQuantities, defaultClassOf, forbidden, storageFinalizers, valueAt, type KubeObject, type PersistentVolumeClaim, type StorageClass } from '@roundsman/api';
import type { AdmissionView } from './outcome.ts';

const claims = { plural: 'persistentvolumeclaims', group: '' };
const classes = 'storageclasses.storage.k8s.io';

/** Nothing that is in use goes: controllers take the finalizer off. */
function protect(object: KubeObject, finalizer: string): void {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
}

export function completeVolume(volume: KubeObject, _view: AdmissionView, old: KubeObject | undefined): void {
  if (old === undefined) protect(volume, storageFinalizers.volume);
}

/** A new claim is protected and gets the default class when it names none; a growing one needs a class that lets it. Changes the claim; throws a 403. */
export function completeClaim(object: KubeObject, view: AdmissionView, old: KubeObject | undefined): void {
  const claim = object as PersistentVolumeClaim;
  if (old !== undefined) return growth(claim, old as PersistentVolumeClaim, view);
  protect(claim, storageFinalizers.claim);
  if (classOfClaim(claim) !== undefined) return;
  const usual = defaultClassOf(view.list(classes) as unknown as StorageClass[]);
  if (usual !== undefined) claim.spec.storageClassName = usual.metadata.name;
}

function growth(claim: PersistentVolumeClaim, old: PersistentVolumeClaim, view: AdmissionView): void {
  const [size, before] = [claim, old].map((one) => one.spec.resources.requests?.['storage']);
  if (size === undefined || before === undefined || compareQuantities(size, before) <= 0) return;
  const refused = (why: string): Error => forbidden(claims, claim.metadata.name, why);
  if (old.status?.phase !== 'Bound') throw refused('Only bound persistent volume claims can be expanded');
  const name = classOfClaim(old) ?? '';
  const found = name === '' ? undefined : view.admitted(classes, undefined, name);
  if (valueAt(found, 'allowVolumeExpansion') !== true) throw refused('only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize');
}
