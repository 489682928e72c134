import { isDeepStrictEqual } from 'node:util';
import type { AdmissionContext, Cause } from '../../kind.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../kinds/persistentvolumeclaim/schema.ts';
import { labelSelectorCauses } from '../../label-selector.ts';
import type { KubeObject } from '../../meta.ts';
import { subdomainProblem } from '../../names.ts';
import { compareQuantities } from '../../quantity.ts';
import { storageAnnotations } from '../../storage/names.ts';
import { forbiddenField, invalidValue, named, required, type Findings } from '../causes.ts';
import { differences } from '../differences.ts';
import { accessModeCauses, sizeCauses } from './access.ts';

export function persistentVolumeClaimRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const claim = object as PersistentVolumeClaim;
  const causes = claimSpecCauses(claim.spec, 'spec');
  if (old !== undefined) causes.push(...changeCauses(claim, old as PersistentVolumeClaim));
  const sources = ['dataSource', 'dataSourceRef'].filter((member) => claim.spec[member as 'dataSource'] !== undefined);
  return { causes, warnings: sources.map((member) => `spec.${member}: is not applied here: the volume is empty`) };
}

/** What is wrong with what a claim asks for; also of one that a pod makes. */
export function claimSpecCauses({ accessModes, selector, resources, storageClassName = '' }: PersistentVolumeClaimSpec, field: string): Cause[] {
  const size = resources.requests?.['storage'];
  const at = `${field}.resources[storage]`;
  return [
    ...accessModeCauses(accessModes, `${field}.accessModes`, 'at least 1 access mode is required'),
    ...(selector === undefined ? [] : labelSelectorCauses(selector, `${field}.selector`)),
    ...(size === undefined ? [required(at, '')] : sizeCauses(size, at)),
    ...(storageClassName === '' ? [] : named(`${field}.storageClassName`, storageClassName, subdomainProblem(storageClassName))),
  ];
}

function changeCauses({ spec, metadata, status }: PersistentVolumeClaim, { spec: old, metadata: oldMetadata }: PersistentVolumeClaim): Cause[] {
  const causes: Cause[] = [];
  // What may change is left out of the comparison: the volume of a claim that had none, the size of one that is bound, the class of one that named none.
  const munged: PersistentVolumeClaimSpec = { ...spec, resources: { ...spec.resources } };
  if ((old.volumeName ?? '') === '') put(munged, 'volumeName', old.volumeName);
  if (old.storageClassName === undefined && oldMetadata.annotations?.[storageAnnotations.betaClass] === undefined && (spec.storageClassName ?? '') !== '') put(munged, 'storageClassName', undefined);
  if (status?.phase === 'Bound') {
    put(munged.resources, 'requests', old.resources.requests);
    put(munged, 'volumeAttributesClassName', old.volumeAttributesClassName);
  }
  if (!isDeepStrictEqual(munged, old)) causes.push(forbiddenField('spec', `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${differences(old, munged)}`));
  const [size, before, has] = [spec.resources.requests?.['storage'], old.resources.requests?.['storage'], status?.capacity?.['storage'] ?? '0'];
  if (size !== undefined && before !== undefined && compareQuantities(size, before) < 0 && compareQuantities(size, has) <= 0) causes.push(forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  if (spec.volumeMode !== old.volumeMode) causes.push(invalidValue('volumeMode', spec.volumeMode, 'field is immutable'));
  if (spec.volumeAttributesClassName !== old.volumeAttributesClassName) causes.push(forbiddenField('spec.volumeAttributesClassName', 'update is forbidden when the VolumeAttributesClass feature gate is disabled'));
  if (metadata.annotations?.[storageAnnotations.betaClass] !== oldMetadata.annotations?.[storageAnnotations.betaClass]) causes.push(invalidValue(`metadata.annotations[${storageAnnotations.betaClass}]`, metadata.annotations?.[storageAnnotations.betaClass] ?? '', 'field is immutable'));
  return causes;
}

function put<T extends object, K extends keyof T>(object: T, member: K, value: T[K] | undefined): void {
  if (value === undefined) delete object[member];
  else object[member] = value;
}
