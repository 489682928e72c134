import { claimsOf, isClaimedBy, isPodEnded, storageAnnotations, storageFinalizers, type PersistentVolume, type PersistentVolumeClaim, type Pod } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withLists } from '../owner.ts';
import { freedVolume, volumeStatus } from './binding.ts';
import { isOwnProvisioner, placeOf, removalProblem, removerFor } from './provision.ts';

/** Tells in which phase volumes are, and does with those whose claims are gone what their policy says. Data go only here: with a volume that was made for its claim, and is to be deleted. */
export function volumeKeeper({ caches, objects, recorder, log }: Deps): LoopDefinition {
  const tell = recorder.from('persistentvolume-controller');
  const { claims, persistentVolumes: volumes } = caches;

  /** Read past the cache where it knows of none: a volume is never released because news is late. */
  async function claimOf({ spec: { claimRef } }: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace = '', name = '', uid } = claimRef ?? {};
    const known = claims.get(namespace, name);
    const claim = known?.metadata.uid === uid ? known : ((await caches.stored('persistentvolumeclaims', namespace, name)) as PersistentVolumeClaim | undefined);
    return claim?.metadata.uid === uid ? claim : undefined;
  }

  async function sync(volume: PersistentVolume): Promise<void> {
    const { claimRef } = volume.spec;
    const say = (phase: Parameters<typeof volumeStatus>[1]): Promise<PersistentVolume> => objects.updateStatus(volumes, volume, volumeStatus(volume, phase));
    if (claimRef === undefined || (claimRef.uid ?? '') === '') {
      if (volume.metadata.deletionTimestamp !== undefined) await unused(volume);
      else await say('Available');
      return;
    }
    const claim = await claimOf(volume);
    if (claim === undefined) return released(volume);
    if (claim.spec.volumeName === volume.metadata.name) return void (await say('Bound'));
    // The claim is being bound: its own loop goes on with it.
    if ((claim.spec.volumeName ?? '') === '' && isClaimedBy(volume, claim)) return;
    if (isOwnProvisioner(volume.metadata.annotations?.[storageAnnotations.provisionedBy] ?? '') && volume.spec.persistentVolumeReclaimPolicy === 'Delete') return released(volume);
    await objects.update(volumes, freedVolume(volume));
  }

  async function released(volume: PersistentVolume): Promise<void> {
    const now = volume.status?.phase === 'Released' || volume.status?.phase === 'Failed' ? volume : await objects.updateStatus(volumes, volume, volumeStatus(volume, 'Released'));
    const policy = now.spec.persistentVolumeReclaimPolicy;
    const users = policy === 'Delete' ? usersOf(now) : [];
    if (users.length > 0) return fail(now, 'VolumeFailedDelete', `volume is still used by pods: ${users.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(', ')}`);
    if (now.metadata.deletionTimestamp !== undefined) return unused(now);
    if (policy === 'Retain') return;
    if (policy === 'Recycle') return fail(now, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!');
    if (!isOwnProvisioner(now.metadata.annotations?.[storageAnnotations.provisionedBy] ?? '')) return fail(now, 'VolumeFailedDelete', `error getting deleter volume plugin for volume ${JSON.stringify(now.metadata.name)}: no deletable volume plugin matched`);
    // Asked for by a person, it goes all the same (`unused`).
    const place = placeOf(now);
    if (place !== undefined && removerFor(now, caches.nodes.list()) === undefined) {
      return fail(now, 'VolumeFailedDelete', `node ${JSON.stringify(place)}, on which the directory of the volume lies, is not there: the volume goes when the node is back. If it is gone for good: kubectl delete pv ${now.metadata.name}`);
    }
    await objects.delete(volumes, now);
    await unused(volumes.get(undefined, now.metadata.name) ?? now);
  }

  /** Pods that have the volume still, though its claim was taken away from under them; those that are younger than a next claim of its name have that one's. */
  function usersOf({ spec: { claimRef } }: PersistentVolume): Pod[] {
    const { namespace = '', name = '' } = claimRef ?? {};
    const next = claims.get(namespace, name)?.metadata.creationTimestamp;
    return caches.pods
      .by('namespace', namespace)
      .filter((pod) => (pod.spec.nodeName ?? '') !== '' && !isPodEnded(pod) && claimsOf(pod).includes(name) && (next === undefined || pod.metadata.creationTimestamp < next));
  }

  /** It is to go, and nobody uses it: its directory first, unless that is to stay. */
  async function unused(volume: PersistentVolume): Promise<void> {
    const { name, annotations = {}, finalizers = [] } = volume.metadata;
    if (finalizers.includes(storageFinalizers.directory)) {
      if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') {
        log.info({ volume: name }, 'a volume goes, its directory stays: its reclaim policy is not Delete');
        return void (await without(volume, storageFinalizers.directory, storageFinalizers.volume));
      }
      const node = removerFor(volume, caches.nodes.list());
      if (node === undefined) {
        const place = placeOf(volume);
        if (place === undefined) return fail(volume, 'VolumeFailedDelete', 'there is no node now that could remove the directory of the volume on its server; it goes when there is one');
        tell(volume, 'Warning', 'VolumeDirectoryLeft', `node ${JSON.stringify(place)} is not there: the volume goes, its directory ${volume.spec.hostPath?.path ?? ''} stays on that machine`);
        log.warn({ volume: name, node: place, path: volume.spec.hostPath?.path }, 'a volume goes, its directory stays on a node that is gone');
        return void (await without(volume, storageFinalizers.directory, storageFinalizers.volume));
      }
      const remover = caches.nodes.get(undefined, node);
      const problem = remover === undefined ? undefined : removalProblem(volume, remover);
      if (problem !== undefined) return fail(volume, 'VolumeFailedDelete', problem);
      if (annotations[storageAnnotations.removedBy] !== node || finalizers.includes(storageFinalizers.volume)) {
        const marked = { ...volume.metadata, annotations: { ...annotations, [storageAnnotations.removedBy]: node } };
        await objects.update(volumes, { ...volume, metadata: withLists(marked, { finalizers: finalizers.filter((one) => one !== storageFinalizers.volume) }) });
      }
      return;
    }
    await without(volume, storageFinalizers.volume);
  }

  async function without(volume: PersistentVolume, ...gone: string[]): Promise<void> {
    const { finalizers = [] } = volume.metadata;
    const left = finalizers.filter((one) => !gone.includes(one));
    if (left.length < finalizers.length) await objects.update(volumes, { ...volume, metadata: withLists(volume.metadata, { finalizers: left }) });
  }

  async function fail(volume: PersistentVolume, reason: string, message: string): Promise<void> {
    if (volume.status?.phase === 'Failed' && volume.status.message === message) return;
    await objects.updateStatus(volumes, volume, volumeStatus(volume, 'Failed', { message }));
    tell(volume, 'Warning', reason, message);
  }

  return {
    name: 'persistent-volumes',
    keys: keysOf(volumes),
    wakes: [
      onOwnChange(volumes),
      onChange(claims, ({ type, object }) => {
        const name = object.spec.volumeName ?? '';
        const own = name === '' ? [] : [`/${name}`];
        if (type !== 'DELETED') return own;
        return [...own, ...volumes.list().filter(({ spec }) => spec.claimRef?.uid === object.metadata.uid).map(objectKey)];
      }),
      // Their directories may be removed now.
      onChange(caches.nodes, () => volumes.list().filter(({ metadata, status }) => metadata.deletionTimestamp !== undefined || status?.phase === 'Failed').map(objectKey)),
      // The last one that had it, after its claim was gone.
      onChange(caches.pods, ({ type, object }) => {
        const used = type === 'DELETED' || isPodEnded(object) ? claimsOf(object) : [];
        return used.length === 0 ? [] : volumes.list().filter(({ spec: { claimRef }, status }) => status?.phase === 'Failed' && claimRef?.namespace === object.metadata.namespace && used.includes(claimRef?.name ?? '')).map(objectKey);
      }),
    ],
    async reconcile(key) {
      const volume = byKey(volumes, key);
      if (volume !== undefined) await sync(volume);
    },
  };
}
