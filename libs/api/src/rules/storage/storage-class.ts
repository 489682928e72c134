import { isDeepStrictEqual } from 'node:util';
import type { AdmissionContext, Cause } from '../../kind.ts';
import type { StorageClass } from '../../kinds/storageclass/schema.ts';
import type { KubeObject } from '../../meta.ts';
import { qualifiedNameProblem } from '../../names.ts';
import { provisioners } from '../../storage/names.ts';
import { forbiddenField, invalidValue, named, required, type Findings } from '../causes.ts';

export function storageClassRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { provisioner, parameters = {}, volumeBindingMode, reclaimPolicy } = object as unknown as StorageClass;
  const causes: Cause[] = provisioner === '' ? [required('provisioner', '')] : named('provisioner', provisioner, qualifiedNameProblem(provisioner.toLowerCase()));
  if (Object.keys(parameters).includes('')) causes.push(invalidValue('parameters', '', 'field can not be empty.'));
  if (provisioner === provisioners.nfs) causes.push(...exportCauses(parameters));
  if (provisioner === provisioners.local && volumeBindingMode === 'Immediate') causes.push(invalidValue('volumeBindingMode', volumeBindingMode, `must be WaitForFirstConsumer: ${provisioner} makes a directory on the node of the pod that uses it first`));
  const before = old as unknown as StorageClass | undefined;
  if (before !== undefined) {
    if (!isDeepStrictEqual(before.parameters ?? {}, parameters)) causes.push(forbiddenField('parameters', 'updates to parameters are forbidden.'));
    if (before.provisioner !== provisioner) causes.push(forbiddenField('provisioner', 'updates to provisioner are forbidden.'));
    if (before.reclaimPolicy !== reclaimPolicy) causes.push(forbiddenField('reclaimPolicy', 'updates to reclaimPolicy are forbidden.'));
    if (before.volumeBindingMode !== volumeBindingMode) causes.push(invalidValue('volumeBindingMode', volumeBindingMode, 'field is immutable'));
  }
  return { causes, warnings: [] };
}

/** Where the directories of its volumes lie. */
function exportCauses({ server = '', path = '' }: Readonly<Record<string, string>>): Cause[] {
  const causes = server === '' ? [required('parameters[server]', `${provisioners.nfs} needs the address of an NFS server`)] : [];
  if (path === '') causes.push(required('parameters[path]', `${provisioners.nfs} needs a directory that the server exports`));
  else if (!path.startsWith('/') || path.split('/').includes('..')) causes.push(invalidValue('parameters[path]', path, "must be an absolute path without '..'"));
  return causes;
}
