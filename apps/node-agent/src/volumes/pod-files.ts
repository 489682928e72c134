import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimNameOf, parseQuantity, type Container, type Pod, type Volume, type VolumeMount } from '@roundsman/api';
import type { Mount } from '@roundsman/containers';
import { hostsFile } from '../containers/hosts-file.ts';
import { ConfigProblem } from '../environment/environment.ts';
import { expand, unresolved } from '../environment/expansion.ts';
import type { Materials } from '../environment/materials.ts';
import type { PodFacts } from '../environment/pod-fields.ts';
import { writePayload } from './atomic-writer.ts';
import { prepareHostPath } from './host-path.ts';
import { mountMemory, unmountBelow } from './mounts.ts';
import { payloadOf } from './payload.ts';
import { answers, mountNfs } from './persistent/nfs.ts';
import { preparePersistent, type Prepared } from './persistent/persistent-volume.ts';
import { subPathOf } from './sub-path.ts';
import { VolumeProblem } from './volume-problem.ts';

/** Files that every container gets, unless it mounts something of its own there: where they lie, and the name they have in the pod's folder. */
const ownFiles = [
  { containerPath: '/etc/hosts', file: 'etc-hosts' },
  { containerPath: '/etc/resolv.conf', file: 'etc-resolv.conf' },
] as const;
const propagations = { None: undefined, HostToContainer: 'rslave', Bidirectional: 'rshared' } as const;

/** An agent that is not root cannot remove what its pods, which are, left behind. Trying again does not help. */
export class FilesKept extends Error {
  override readonly name = 'FilesKept';
}

/** All files of one pod on this machine: its volumes, its /etc/hosts, the last words of its containers. They lie in one folder and go with it. */
export class PodFiles {
  readonly #folder: string;
  /** Where each volume lies, by name. */
  readonly #volumes = new Map<string, Prepared>();
  #setUp = false;
  #settingUp: Promise<void> = Promise.resolve();

  constructor(podsFolder: string, uid: string) {
    this.#folder = join(podsFolder, uid);
  }

  /** Its volumes are there. */
  get isSetUp(): boolean {
    return this.#setUp;
  }

  /** Makes all volumes, or brings them up to date, one call after the other: two at once would clear away each other's files. Throws VolumeProblem. */
  setUp(pod: Pod, materials: Materials, facts: PodFacts): Promise<void> {
    const done = this.#settingUp.then(() => this.#setUpAll(pod, materials, facts));
    this.#settingUp = done.catch(() => undefined);
    return done;
  }

  async #setUpAll(pod: Pod, materials: Materials, facts: PodFacts): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const volume of pod.spec.volumes ?? []) {
      try {
        this.#volumes.set(volume.name, await this.#make(pod, volume, materials, facts));
      } catch (error) {
        throw error instanceof VolumeProblem ? error : new VolumeProblem(volume.name, (error as Error).message, { cause: error });
      }
    }
    this.#setUp = true;
  }

  /** What is mounted into one run of a container. Throws ConfigProblem for a mount that cannot be had. */
  async mounts(container: Container, attempt: number, variables: ReadonlyMap<string, string>): Promise<Mount[]> {
    const list: Mount[] = [];
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) list.push(await this.#mount(container, mount, variables, join(this.#folder, 'subpaths', container.name, String(index))));
    for (const { containerPath, file } of ownFiles) {
      if (!list.some((mount) => mount.containerPath === containerPath)) list.push({ hostPath: join(this.#folder, file), containerPath, readOnly: false });
    }
    if (container.terminationMessagePath !== '') {
      const file = this.lastWordsFile(container.name, attempt);
      await mkdir(join(this.#folder, 'containers', container.name), { recursive: true, mode: 0o700 });
      await writeFile(file, '');
      await chmod(file, 0o666);
      list.push({ hostPath: file, containerPath: container.terminationMessagePath, readOnly: false });
    }
    return list;
  }

  /** Where a run of a container leaves its termination message. */
  lastWordsFile(container: string, attempt: number): string {
    return join(this.#folder, 'containers', container, String(attempt));
  }

  /** What a run left, of which nobody tells any more. */
  async forgetRun(container: string, attempt: number): Promise<void> {
    await rm(this.lastWordsFile(container, attempt), { force: true });
  }

  /** The pod's /etc/hosts. `domain` is the cluster's. */
  async writeHosts(pod: Pod, podIPs: readonly string[], machineHosts: () => Promise<string>, domain: string): Promise<void> {
    await this.#writeOwn('etc-hosts', hostsFile(pod, podIPs, pod.spec.hostNetwork === true ? await machineHosts() : '', domain));
  }

  /** The pod's /etc/resolv.conf. */
  async writeResolvConf(text: string): Promise<void> {
    await this.#writeOwn('etc-resolv.conf', text);
  }

  /** In place, because it is mounted as a file. */
  async #writeOwn(file: (typeof ownFiles)[number]['file'], text: string): Promise<void> {
    const path = join(this.#folder, file);
    if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return;
    await writeFile(path, text);
    await chmod(path, 0o644);
  }

  /** Everything of the pod; also when there is nothing. Throws FilesKept. */
  async remove(): Promise<void> {
    try {
      await unmountBelow(this.#folder);
      await rm(this.#folder, { recursive: true, force: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EACCES' && code !== 'EPERM') throw error;
      throw new FilesKept(`files that containers made in ${this.#folder} belong to others and cannot be removed by this user: remove them as root`, { cause: error });
    }
  }

  async #make(pod: Pod, volume: Volume, materials: Materials, facts: PodFacts): Promise<Prepared> {
    const { name, hostPath, emptyDir, nfs } = volume;
    const here = (path: string): Prepared => ({ path, readOnly: false, remote: false });
    if (hostPath !== undefined) return here(await prepareHostPath(name, hostPath));
    const group = pod.spec.securityContext?.fsGroup;
    const folder = join(this.#folder, 'volumes', name);
    const claim = claimNameOf(pod, volume);
    // What the pod has it keeps, whatever becomes of the claim.
    if (claim !== undefined) return this.#volumes.get(name) ?? preparePersistent(pod, volume, claim, materials.claims.get(claim), folder);
    if (nfs !== undefined) {
      await mountNfs(nfs, folder, { readOnly: nfs.readOnly === true });
      return { path: folder, readOnly: nfs.readOnly === true, remote: true };
    }
    const payload = payloadOf(pod, volume, materials, facts);
    if (payload !== undefined) {
      if (holdsSecrets(volume)) await keepOffDisk(folder);
      await writePayload(folder, payload, group);
    } else if (emptyDir !== undefined || Object.keys(volume).length === 1) await makeEmpty(folder, emptyDir ?? {}, group);
    else throw new VolumeProblem(name, `no volume plugin matched: ${Object.keys(volume).find((key) => key !== 'name')} volumes cannot be mounted on this node`);
    return here(folder);
  }

  async #mount(container: Container, mount: VolumeMount, variables: ReadonlyMap<string, string>, pinnedAt: string): Promise<Mount> {
    const volume = this.#volumes.get(mount.name);
    if (volume === undefined) throw new ConfigProblem(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
    const subPath = mount.subPathExpr === undefined || mount.subPathExpr === '' ? (mount.subPath ?? '') : expandSubPath(mount.subPathExpr, variables);
    const prepare = async (): Promise<string> => {
      if (subPath === '') return volume.path;
      if (volume.remote) await answers(volume.path);
      return subPathOf(volume.path, subPath, pinnedAt);
    };
    const hostPath = await prepare().catch((error: Error) => {
      throw new ConfigProblem(`failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}": ${error.message}`, { cause: error });
    });
    const propagation = mount.mountPropagation === undefined ? undefined : propagations[mount.mountPropagation];
    return { hostPath, containerPath: mount.mountPath, readOnly: volume.readOnly || mount.readOnly === true, ...(propagation === undefined ? {} : { propagation }) };
  }
}

const holdsSecrets = ({ secret, projected }: Volume): boolean => secret !== undefined || (projected?.sources ?? []).some((source) => source.secret !== undefined);

/** Secrets lie in memory. One that is not empty is in use as it is; an agent that may not mount keeps them on disk, below a folder that only it may enter. */
async function keepOffDisk(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (process.getuid?.() !== 0 || (await readdir(folder)).length > 0) return;
  await mountMemory(folder, undefined).catch(() => undefined);
}

async function makeEmpty(folder: string, { medium, sizeLimit }: NonNullable<Volume['emptyDir']>, group: number | undefined): Promise<void> {
  const isNew = (await stat(folder).catch(() => undefined)) === undefined;
  await mkdir(folder, { recursive: true });
  if (medium === 'Memory') await mountMemory(folder, sizeLimit === undefined ? undefined : Math.floor(parseQuantity(sizeLimit)));
  // Its containers may have changed them since.
  if (!isNew) return;
  if (group !== undefined) await chown(folder, process.getuid?.() ?? 0, group);
  await chmod(folder, group === undefined ? 0o777 : 0o2777);
}

function expandSubPath(expression: string, variables: ReadonlyMap<string, string>): string {
  const [missing] = unresolved(expression, variables);
  if (missing !== undefined) throw new ConfigProblem(`variable ${JSON.stringify(missing)} in subPathExpr ${JSON.stringify(expression)} is not defined`);
  return expand(expression, variables);
}
