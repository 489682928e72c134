import { isDeepStrictEqual } from 'node:util';
import type { AdmissionContext, Cause } from '../../kind.ts';
import { persistentVolumeSources, type PersistentVolume, type PersistentVolumeSpec } from '../../kinds/persistentvolume/schema.ts';
import type { KubeObject } from '../../meta.ts';
import { subdomainProblem } from '../../names.ts';
import { forbiddenField, invalidValue, named, notSupported, required, type Findings } from '../causes.ts';
import { differences } from '../differences.ts';
import { termCauses } from '../pod/placement.ts';
import { noBacksteps } from '../pod/volumes.ts';
import { accessModeCauses, sizeCauses } from './access.ts';

export function persistentVolumeRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { spec } = object as PersistentVolume;
  const causes = [
    ...accessModeCauses(spec.accessModes, 'spec.accessModes', ''),
    ...capacityCauses(spec.capacity ?? {}, 'spec.capacity'),
    ...affinityCauses(spec, 'spec.nodeAffinity'),
    ...sourceCauses(spec),
    ...(spec.storageClassName === undefined ? [] : named('spec.storageClassName', spec.storageClassName, subdomainProblem(spec.storageClassName))),
    ...(old === undefined ? [] : changeCauses(spec, (old as PersistentVolume).spec)),
  ];
  return { causes, warnings: [] };
}

function capacityCauses(capacity: Readonly<Record<string, string>>, field: string): Cause[] {
  const names = Object.keys(capacity);
  const causes = names.length === 0 ? [required(field, '')] : [];
  if (capacity['storage'] === undefined || names.length > 1) causes.push(notSupported(field, capacity, ['storage']));
  return [...causes, ...names.flatMap((name) => sizeCauses(capacity[name] ?? '', `${field}[${name}]`))];
}

function affinityCauses({ nodeAffinity, local }: PersistentVolumeSpec, field: string): Cause[] {
  if (nodeAffinity === undefined) return local === undefined ? [] : [required('metadata.annotations', 'Local volume requires node affinity')];
  if (nodeAffinity.required === undefined) return [required(`${field}.required`, 'must specify required node constraints')];
  const at = `${field}.required.nodeSelectorTerms`;
  const { nodeSelectorTerms: terms } = nodeAffinity.required;
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')];
  return terms.flatMap((term, index) => termCauses(term, `${at}[${index}]`));
}

function sourceCauses(spec: PersistentVolumeSpec): Cause[] {
  const [first, ...others] = persistentVolumeSources.filter((source) => spec[source] !== undefined);
  if (first === undefined) return [required('spec', 'must specify a volume type')];
  const { hostPath, local, nfs } = spec;
  const causes = others.map((source) => forbiddenField(`spec.${source}`, 'may not specify more than 1 volume type'));
  const path = (field: string, value: string): Cause[] => (value === '' ? [required(field, '')] : noBacksteps(field, value));
  if (hostPath !== undefined) causes.push(...path('spec.hostPath.path', hostPath.path));
  if (hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') causes.push(forbiddenField('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"));
  if (local !== undefined) causes.push(...path('spec.local.path', local.path));
  if (nfs !== undefined) {
    if (nfs.server === '') causes.push(required('spec.nfs.server', ''));
    if (nfs.path === '') causes.push(required('spec.nfs.path', ''));
    else if (!nfs.path.startsWith('/')) causes.push(invalidValue('spec.nfs.path', nfs.path, 'must be an absolute path'));
  }
  return causes;
}

function changeCauses(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): Cause[] {
  const sourceOf = (of: PersistentVolumeSpec): object => Object.fromEntries(persistentVolumeSources.flatMap((source) => (of[source] === undefined ? [] : [[source, of[source]]])));
  const [now, before] = [sourceOf(spec), sourceOf(old)];
  const causes: Cause[] = [];
  if (!isDeepStrictEqual(now, before)) causes.push(forbiddenField('spec.persistentvolumesource', `spec.persistentvolumesource is immutable after creation\n${differences(before, now)}`));
  if (spec.volumeMode !== old.volumeMode) causes.push(invalidValue('volumeMode', spec.volumeMode, 'field is immutable'));
  if (old.nodeAffinity !== undefined && !isDeepStrictEqual(spec.nodeAffinity, old.nodeAffinity)) causes.push(invalidValue('nodeAffinity', spec.nodeAffinity ?? null, 'field is immutable'));
  if (spec.volumeAttributesClassName !== old.volumeAttributesClassName) causes.push(forbiddenField('spec.volumeAttributesClassName', 'update is forbidden when the VolumeAttributesClass feature gate is disabled'));
  return causes;
}
