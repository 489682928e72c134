import { claimsOf, classOfClaim, fitsNode, isBoundClaim, provisioners, storageAnnotations, volumeFor, volumesFolderAnnotation, waitsForConsumer, type Node, type PersistentVolume, type PersistentVolumeClaim, type Pod, type StorageClass } from '@roundsman/api';

/** Claims, volumes and classes as they are known. */
export interface Storage {
  readonly claim: (namespace: string, name: string) => PersistentVolumeClaim | undefined;
  readonly volume: (name: string) => PersistentVolume | undefined;
  readonly volumes: () => Iterable<PersistentVolume>;
  readonly storageClass: (name: string) => StorageClass | undefined;
}

/** The claims of a pod as far as they matter for its node; or why the pod has to wait, wherever. */
export type PodClaims = { readonly problem: string } | { readonly problem?: undefined; readonly bound: readonly PersistentVolumeClaim[]; /** They get their volumes when the pod has a node. */ readonly delayed: readonly PersistentVolumeClaim[] };

export function podClaims(pod: Pod, storage: Storage): PodClaims {
  const namespace = pod.metadata.namespace ?? '';
  const bound: PersistentVolumeClaim[] = [];
  const delayed: PersistentVolumeClaim[] = [];
  const ephemeral = new Set((pod.spec.volumes ?? []).flatMap((volume) => (volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`])));
  for (const name of claimsOf(pod)) {
    const claim = storage.claim(namespace, name);
    const problem = claim === undefined ? missing(name, ephemeral.has(name)) : unusable(claim, pod, ephemeral.has(name));
    if (problem !== undefined || claim === undefined) return { problem: problem ?? '' };
    if (isBoundClaim(claim)) bound.push(claim);
    else if ((claim.spec.volumeName ?? '') === '' && waitsForConsumer(storage.storageClass(classOfClaim(claim) ?? ''))) delayed.push(claim);
    else return { problem: 'pod has unbound immediate PersistentVolumeClaims' };
  }
  return { bound, delayed };
}

const missing = (name: string, ephemeral: boolean): string =>
  ephemeral ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${JSON.stringify(name)}` : `persistentvolumeclaim ${JSON.stringify(name)} not found`;

function unusable({ metadata, status, spec }: PersistentVolumeClaim, pod: Pod, ephemeral: boolean): string | undefined {
  const name = JSON.stringify(metadata.name);
  if (metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim ${name} is being deleted`;
  if (status?.phase === 'Lost') return `persistentvolumeclaim ${name} bound to non-existent persistentvolume ${JSON.stringify(spec.volumeName ?? '')}`;
  if (!ephemeral || metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === pod.metadata.uid) === true) return undefined;
  return `PVC ${JSON.stringify(`${metadata.namespace}/${metadata.name}`)} was not created for pod ${JSON.stringify(`${metadata.namespace}/${pod.metadata.name}`)} (pod is not owner)`;
}

/** Why a bound claim cannot be used on a node; undefined when it can. */
export function outOfReach({ spec }: PersistentVolumeClaim, node: Node, storage: Storage): string | undefined {
  const volume = storage.volume(spec.volumeName ?? '');
  if (volume === undefined) return 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
  return fitsNode(volume, node) ? undefined : 'node(s) had volume node affinity conflict';
}

/** Whether every one of these claims can have a volume on a node: one that is there, or one that is made. */
export function canBeBound(claims: readonly PersistentVolumeClaim[], node: Node, storage: Storage): boolean {
  const taken = new Set<string>();
  return claims.every((claim) => {
    const chosen = claim.metadata.annotations?.[storageAnnotations.selectedNode];
    if (chosen !== undefined && chosen !== node.metadata.name) return false;
    const volume = volumeFor(claim, storage.volumes(), { node, taken });
    if (volume !== undefined) taken.add(volume.metadata.name);
    return volume !== undefined || canBeMade(storage.storageClass(classOfClaim(claim) ?? ''), node);
  });
}

function canBeMade(one: StorageClass | undefined, { metadata }: Node): boolean {
  if (one === undefined || one.provisioner === 'kubernetes.io/no-provisioner') return false;
  if (one.provisioner === provisioners.local && metadata.annotations?.[volumesFolderAnnotation] === undefined) return false;
  const topologies = one.allowedTopologies ?? [];
  return topologies.length === 0 || topologies.some(({ matchLabelExpressions = [] }) => matchLabelExpressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? '')));
}
