import type { Node } from '../kinds/node/schema.ts';
import type { PersistentVolume } from '../kinds/persistentvolume/schema.ts';
import type { PersistentVolumeClaim } from '../kinds/persistentvolumeclaim/schema.ts';
import type { Pod } from '../kinds/pod/schema.ts';
import type { Volume } from '../kinds/pod/volume.ts';
import type { StorageClass } from '../kinds/storageclass/schema.ts';
import { selects } from '../label-selector.ts';
import { termCondition } from '../node-selector.ts';
import { compareQuantities } from '../quantity.ts';
import { storageAnnotations } from './names.ts';

/** The class that a claim names; empty: only volumes without a class; undefined: none is named. */
export const classOfClaim = ({ metadata, spec }: PersistentVolumeClaim): string | undefined => metadata.annotations?.[storageAnnotations.betaClass] ?? spec.storageClassName;
export const classOfVolume = ({ metadata, spec }: PersistentVolume): string => metadata.annotations?.[storageAnnotations.betaClass] ?? spec.storageClassName ?? '';

export const isDefaultClass = ({ metadata }: StorageClass): boolean => metadata.annotations?.[storageAnnotations.defaultClass] === 'true' || metadata.annotations?.[storageAnnotations.betaDefaultClass] === 'true';
/** The one for claims that name none: of several the newest, then the first by name. */
export function defaultClassOf(classes: Iterable<StorageClass>): StorageClass | undefined {
  const age = ({ metadata }: StorageClass): string => metadata.creationTimestamp;
  return [...classes].filter(isDefaultClass).sort((a, b) => age(b).localeCompare(age(a)) || a.metadata.name.localeCompare(b.metadata.name))[0];
}
export const waitsForConsumer = (one: StorageClass | undefined): boolean => one?.volumeBindingMode === 'WaitForFirstConsumer';

/** Bound for good: the claim has its volume, or had it. */
export const isBoundClaim = ({ metadata, spec }: PersistentVolumeClaim): boolean => (spec.volumeName ?? '') !== '' && metadata.annotations?.[storageAnnotations.bindCompleted] !== undefined;

/** Whether a volume is set aside for this very claim, by name or uid. */
export function isClaimedBy({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef === undefined || claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return (claimRef.uid ?? '') === '' || claimRef.uid === metadata.uid;
}

/** Whether the volume can be reached from the node. */
export function fitsNode({ spec }: PersistentVolume, node: Node): boolean {
  const required = spec.nodeAffinity?.required;
  return required === undefined || required.nodeSelectorTerms.some((term) => termCondition(term)(node));
}

/** Why a volume cannot be what a claim asks for, in Kubernetes' words; undefined when it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const asked = claim.spec.resources.requests?.['storage'];
  if (asked !== undefined && compareQuantities(volume.spec.capacity?.['storage'] ?? '0', asked) < 0) return 'requested PV is too small';
  if (classOfVolume(volume) !== (classOfClaim(claim) ?? '')) return 'storageClassName does not match';
  if (volume.spec.volumeMode !== claim.spec.volumeMode) return 'incompatible volumeMode';
  if (!(claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode) === true)) return 'incompatible accessMode';
  return undefined;
}

/**
 * The volume for a claim that has none: one that is set aside for it, else the smallest that fits, the first by name of equal ones.
 * `node`: it must be within reach of that node. `onlyReserved`: none is taken that is free for anybody.
 */
export function volumeFor(claim: PersistentVolumeClaim, volumes: Iterable<PersistentVolume>, { node, onlyReserved = false, taken }: { node?: Node | undefined; onlyReserved?: boolean; /** Names of volumes that are promised already. */ taken?: ReadonlySet<string> } = {}): PersistentVolume | undefined {
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.metadata.deletionTimestamp !== undefined || taken?.has(volume.metadata.name) === true) continue;
    const reserved = isClaimedBy(volume, claim);
    if (!reserved && (onlyReserved || volume.spec.claimRef !== undefined)) continue;
    if (mismatch(volume, claim) !== undefined || (node !== undefined && !fitsNode(volume, node))) continue;
    if (reserved) return volume;
    if (claim.spec.selector !== undefined && !selects(claim.spec.selector, volume.metadata.labels)) continue;
    if (volume.status?.phase !== 'Available') continue;
    if (best === undefined || compare(volume, best) < 0) best = volume;
  }
  return best;
}

const compare = (one: PersistentVolume, other: PersistentVolume): number =>
  compareQuantities(one.spec.capacity?.['storage'] ?? '0', other.spec.capacity?.['storage'] ?? '0') || (one.metadata.name < other.metadata.name ? -1 : 1);

/** The claim behind a volume of a pod; undefined for any other volume. */
export function claimNameOf({ metadata }: Pick<Pod, 'metadata'>, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${metadata.name}-${name}`;
}
/** The claims that a pod uses, each once. */
export const claimsOf = (pod: Pick<Pod, 'metadata' | 'spec'>): string[] => [...new Set((pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []))];
