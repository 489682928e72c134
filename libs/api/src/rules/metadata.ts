import type { Cause, Kind } from '../kind.ts';
import type { ObjectMeta } from '../meta.ts';
import { labelProblem, labelValueProblem, qualifiedNameProblem, subdomainProblem } from '../names.ts';
import { forbiddenField, invalidValue, required, tooLong } from './causes.ts';

/** Bytes of all annotations of an object together, as Kubernetes has it. */
export const maxAnnotationBytes = 256 * 1024;

/** Rules for the metadata of every kind. */
export function metadataCauses(kind: Kind, metadata: ObjectMeta): Cause[] {
  const causes: Cause[] = [];
  const name = metadata.name ?? '';
  const { nameProblem: problemOf = subdomainProblem } = kind;
  const nameProblem = problemOf(name);
  // The end of a generated name is good: what it begins with is judged by itself.
  const { generateName = '' } = metadata;
  const prefixProblem = generateName === '' ? undefined : problemOf(generateName.endsWith('-') ? `${generateName.slice(0, -1)}a` : generateName);
  if (prefixProblem !== undefined) causes.push(invalidValue('metadata.generateName', generateName, prefixProblem));
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else if (nameProblem !== undefined) causes.push(invalidValue('metadata.name', name, nameProblem));
  if (kind.maxNameLength !== undefined && name.length > kind.maxNameLength) {
    causes.push(invalidValue('metadata.name', name, `must be no more than ${kind.maxNameLength} characters: the name of a ${kind.kind} becomes part of the names of what is made for it`));
  }
  if (kind.namespaced) {
    const problem = labelProblem(metadata.namespace ?? '');
    if (metadata.namespace === undefined || metadata.namespace === '') causes.push(required('metadata.namespace', ''));
    else if (problem !== undefined) causes.push(invalidValue('metadata.namespace', metadata.namespace, problem));
  } else if (metadata.namespace !== undefined && metadata.namespace !== '') {
    causes.push(forbiddenField('metadata.namespace', 'not allowed on this type'));
  }
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    const keyProblem = qualifiedNameProblem(key);
    if (keyProblem !== undefined) causes.push(invalidValue('metadata.labels', key, keyProblem));
    const valueProblem = labelValueProblem(value);
    if (valueProblem !== undefined) causes.push(invalidValue('metadata.labels', value, valueProblem));
  }
  causes.push(...annotationCauses(metadata.annotations ?? {}, 'metadata.annotations'));
  for (const finalizer of metadata.finalizers ?? []) {
    const problem = qualifiedNameProblem(finalizer);
    if (problem !== undefined) causes.push(invalidValue('metadata.finalizers', finalizer, problem));
  }
  causes.push(...ownerCauses(metadata));
  for (const [index, finalizer] of (metadata.finalizers ?? []).entries()) {
    if (finalizer.includes('/') || standardFinalizers.includes(finalizer)) continue;
    causes.push(invalidValue(`metadata.finalizers[${index}]`, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'));
  }
  return causes;
}

export function annotationCauses(annotations: Readonly<Record<string, string>>, field: string): Cause[] {
  const causes: Cause[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const problem = qualifiedNameProblem(key.toLowerCase());
    if (problem !== undefined) causes.push(invalidValue(field, key, problem));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationBytes) causes.push(tooLong(field, maxAnnotationBytes));
  return causes;
}

const standardFinalizers = ['orphan', 'foregroundDeletion'];

function ownerCauses(metadata: ObjectMeta): Cause[] {
  const owners = metadata.ownerReferences ?? [];
  const causes: Cause[] = [];
  for (const [index, owner] of owners.entries()) {
    for (const [member, word] of [['apiVersion', 'version'], ['kind', 'kind'], ['name', 'name'], ['uid', 'uid']] as const) {
      if (owner[member] === '') causes.push(invalidValue(`metadata.ownerReferences[${index}].${member}`, '', `${word} must not be empty`));
    }
  }
  const [first, second] = owners.filter(({ controller }) => controller === true);
  if (first !== undefined && second !== undefined) {
    const both = [first, second].map(({ kind, name }) => `${kind}/${name}`).join(' and ');
    causes.push(invalidValue('metadata.ownerReferences', owners, `Only one reference can have Controller set to true. Found "true" in references for ${both}`));
  }
  return causes;
}
