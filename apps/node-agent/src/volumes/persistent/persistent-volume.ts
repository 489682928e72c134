import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { provisioners, storageAnnotations, type PersistentVolume, type Pod, type Volume } from '@roundsman/api';
import type { ClaimedVolume } from '../../environment/materials.ts';
import { prepareHostPath } from '../host-path.ts';
import { checkAnswers } from '../mounts.ts';
import { VolumeProblem } from '../volume-problem.ts';
import { giveToGroup } from './group.ts';
import { makeOnServer, mountNfs } from './nfs.ts';

/** Where a volume can be mounted from. */
export interface Prepared {
  readonly path: string;
  readonly readOnly: boolean;
  /** It may stop answering. */
  readonly remote: boolean;
}

/** Makes ready what is behind the claim of a pod's volume. `mountpoint`: in the pod's folder, for what has to be mounted. Throws VolumeProblem. */
export async function preparePersistent(pod: Pod, volume: Volume, claimName: string, found: ClaimedVolume | undefined, mountpoint: string): Promise<Prepared> {
  if (found === undefined) throw new VolumeProblem(volume.name, `persistentvolumeclaim ${JSON.stringify(claimName)} not found`);
  const persistent = found.volume;
  if (persistent === undefined || persistent.spec.claimRef?.uid !== found.claim.metadata.uid) throw new VolumeProblem(volume.name, `PVC is not bound: ${pod.metadata.namespace}/${claimName}`);
  if (persistent.spec.volumeMode === 'Block') throw new VolumeProblem(volume.name, `volume ${persistent.metadata.name} has volumeMode Block, which is not served here: use Filesystem`);
  const readOnly = volume.persistentVolumeClaim?.readOnly === true;
  const { nfs } = persistent.spec;
  if (nfs !== undefined) {
    const options = persistent.spec.mountOptions;
    if (isMadeBy(persistent, provisioners.nfs)) await makeOnServer(nfs, `${mountpoint}.parent`, options);
    await mountNfs(nfs, mountpoint, { readOnly: readOnly || nfs.readOnly === true, options });
    return { path: mountpoint, readOnly: readOnly || nfs.readOnly === true, remote: true };
  }
  const { path, owned } = await onThisNode(volume.name, persistent);
  if (owned && !readOnly) await giveToGroup(path, pod.spec.securityContext ?? {});
  return { path, readOnly, remote: false };
}

const isMadeBy = ({ metadata }: PersistentVolume, provisioner: string): boolean => metadata.annotations?.[storageAnnotations.provisionedBy] === provisioner;

/** `owned`: it is there for claims alone, and may be given to the group of a pod. */
async function onThisNode(name: string, volume: PersistentVolume): Promise<{ path: string; owned: boolean }> {
  const { hostPath, local } = volume.spec;
  if (local !== undefined) {
    await checkAnswers(local.path);
    const found = await stat(local.path).catch((error: Error) => {
      throw new VolumeProblem(name, `path ${JSON.stringify(local.path)} does not exist`, { cause: error });
    });
    if (!found.isDirectory()) throw new VolumeProblem(name, `path ${JSON.stringify(local.path)} is not a directory: only directories are served here`);
    return { path: local.path, owned: true };
  }
  if (hostPath === undefined) throw new VolumeProblem(name, `no volume plugin matched: volume ${volume.metadata.name} cannot be mounted on this node`);
  if (!isMadeBy(volume, provisioners.local)) return { path: await prepareHostPath(name, hostPath), owned: false };
  await checkAnswers(hostPath.path);
  await mkdir(dirname(hostPath.path), { recursive: true, mode: 0o711 });
  // Its containers may have changed it since.
  const made = await mkdir(hostPath.path).then(() => true, (error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return false;
    throw error;
  });
  if (made) await chmod(hostPath.path, 0o777);
  return { path: hostPath.path, owned: true };
}
