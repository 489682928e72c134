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
  const nameProblem = kind.plural === 'namespaces' && kind.group === '' ? labelProblem(name) : subdomainProblem(name);
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else if (nameProblem !== undefined) causes.push(invalidValue('metadata.name', name, nameProblem));
  if (kind.maxNameLength !== undefined && name.length > kind.maxNameLength) {
    causes.push(invalidValue('metadata.name', name, `must be no more than ${kind.maxNameLength} characters: the name of a ${kind.kind} becomes part of its reports' names and labels`));
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
  let bytes = 0;
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    const keyProblem = qualifiedNameProblem(key.toLowerCase());
    if (keyProblem !== undefined) causes.push(invalidValue('metadata.annotations', key, keyProblem));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationBytes) causes.push(tooLong('metadata.annotations', maxAnnotationBytes));
  for (const finalizer of metadata.finalizers ?? []) {
    const problem = qualifiedNameProblem(finalizer);
    if (problem !== undefined) causes.push(invalidValue('metadata.finalizers', finalizer, problem));
    else if (!finalizer.includes('/') && finalizer !== 'orphan' && finalizer !== 'foregroundDeletion') {
      causes.push(invalidValue('metadata.finalizers', finalizer, 'name is neither a standard finalizer name nor is it fully qualified'));
    }
  }
  causes.push(...ownerCauses(metadata));
  return causes;
}

function ownerCauses(metadata: ObjectMeta): Cause[] {
  const causes: Cause[] = [];
  for (const [index, owner] of (metadata.ownerReferences ?? []).entries()) {
    const field = `metadata.ownerReferences[${index}]`;
    for (const member of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[member] === '') causes.push(invalidValue(`${field}.${member}`, '', 'must not be empty'));
    }
  }
  if ((metadata.ownerReferences ?? []).filter((owner) => owner.controller === true).length > 1) {
    causes.push(invalidValue('metadata.ownerReferences', metadata.ownerReferences, 'only one reference can have controller set to true'));
  }
  return causes;
}
