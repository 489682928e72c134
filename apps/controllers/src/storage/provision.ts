import { classOfClaim, provisioners, storageAnnotations, storageFinalizers, volumesFolderAnnotation, type Node, type PersistentVolume, type PersistentVolumeClaim, type PersistentVolumeSpec, type StorageClass } from '@roundsman/api';
import type { Draft } from '../objects.ts';

const hostname = 'kubernetes.io/hostname';

/** Why no volume can be made for a claim as things are; told as ProvisioningFailed. */
export class ProvisioningProblem extends Error {
  override readonly name = 'ProvisioningProblem';
}

export const isOwnProvisioner = (name: string): boolean => name === provisioners.local || name === provisioners.nfs;

export interface VolumeDraft extends Draft {
  readonly apiVersion: 'v1';
  readonly kind: 'PersistentVolume';
  readonly spec: PersistentVolumeSpec;
}

/** Named after the claim: whoever makes it twice makes one. */
export const provisionedName = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`;

/** The volume that is made for a claim. Its directory is made by the agent that mounts it first. `node`: that of the pod that waits, if one does. Throws ProvisioningProblem. */
export function provisionedVolume(claim: PersistentVolumeClaim, one: StorageClass, node: Node | undefined): VolumeDraft {
  const name = provisionedName(claim);
  if (claim.spec.volumeMode === 'Block') throw new ProvisioningProblem(`${one.provisioner} does not support block volume provisioning`);
  if (claim.spec.selector !== undefined) throw new ProvisioningProblem('claim Selector is not supported');
  const { namespace, uid, resourceVersion } = claim.metadata;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, annotations: { [storageAnnotations.provisionedBy]: one.provisioner }, finalizers: [storageFinalizers.volume, storageFinalizers.directory] },
    spec: {
      capacity: { storage: claim.spec.resources.requests?.['storage'] ?? '0' },
      accessModes: [...(claim.spec.accessModes ?? [])],
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: claim.metadata.name, uid, resourceVersion },
      persistentVolumeReclaimPolicy: one.reclaimPolicy,
      storageClassName: classOfClaim(claim) ?? '',
      volumeMode: claim.spec.volumeMode,
      ...(one.mountOptions === undefined ? {} : { mountOptions: one.mountOptions }),
      ...(one.provisioner === provisioners.nfs ? onServer(name, one) : onNode(name, node)),
    },
  };
}

function onServer(name: string, { parameters = {} }: StorageClass): Pick<PersistentVolumeSpec, 'nfs'> {
  return { nfs: { server: parameters['server'] ?? '', path: `${(parameters['path'] ?? '').replace(/\/+$/, '')}/${name}` } };
}

function onNode(name: string, node: Node | undefined): Pick<PersistentVolumeSpec, 'hostPath' | 'nodeAffinity'> {
  if (node === undefined) throw new ProvisioningProblem(`${provisioners.local} needs volumeBindingMode WaitForFirstConsumer: the directory is made on the node of the pod`);
  const folder = node.metadata.annotations?.[volumesFolderAnnotation];
  if (folder === undefined) throw new ProvisioningProblem(`the agent of node ${JSON.stringify(node.metadata.name)} keeps no volumes (annotation ${volumesFolderAnnotation} is missing)`);
  const label = node.metadata.labels?.[hostname] ?? node.metadata.name;
  return {
    hostPath: { path: `${folder}/${name}`, type: 'DirectoryOrCreate' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: 'In', values: [label] }] }] } },
  };
}

/** The node that a volume lies on, by its host name; undefined of one on a server. */
export const placeOf = ({ spec }: PersistentVolume): string | undefined => hostsOf(spec)?.[0];
const hostsOf = ({ nodeAffinity }: PersistentVolumeSpec): readonly string[] | undefined => nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.find(({ key }) => key === hostname)?.values;

/** The node whose agent removes the directory of a volume: where it lies, or any node that works for one on a server. Undefined: there is none now. */
export function removerFor(volume: PersistentVolume, nodes: readonly Node[]): string | undefined {
  const values = hostsOf(volume.spec);
  const isReady = ({ status }: Node): boolean => status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true;
  if (values !== undefined) return nodes.find(({ metadata }) => values.includes(metadata.labels?.[hostname] ?? metadata.name))?.metadata.name;
  const asked = volume.metadata.annotations?.[storageAnnotations.removedBy];
  const ready = nodes.filter((node) => isReady(node) && node.metadata.annotations?.[volumesFolderAnnotation] !== undefined).map(({ metadata }) => metadata.name).sort();
  // One that was asked is left to it: two at once would only be in each other's way.
  return asked !== undefined && ready.includes(asked) ? asked : ready[0];
}

/** Why the agent of the node that a volume lies on would not remove its directory: it removes nothing outside of its own folder. */
export function removalProblem({ metadata, spec: { hostPath } }: PersistentVolume, node: Node): string | undefined {
  const folder = node.metadata.annotations?.[volumesFolderAnnotation];
  if (hostPath === undefined || hostPath.path === `${folder}/${metadata.name}`) return undefined;
  const now = folder === undefined ? 'keeps no volumes now' : `keeps its volumes in ${folder} now`;
  return `the agent of node ${JSON.stringify(node.metadata.name)} ${now}, and removes nothing elsewhere: ${hostPath.path} stays until it does again (ROUNDSMAN_NODE_AGENT_VOLUMES_DIR), or the directory is removed by hand and the finalizer ${storageFinalizers.directory} is taken off`;
}
