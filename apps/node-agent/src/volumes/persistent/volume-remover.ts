import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { claimsOf, type PersistentVolume, type Pod } from '@roundsman/api';
import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { Logger } from 'pino';
import { mountsBelow } from '../mounts.ts';
import { removeOnServer, removeTree } from './nfs.ts';

const askEveryMs = 15_000;
const tellEveryMs = 60_000;

export interface VolumeRemoverOptions {
  readonly bus: Bus;
  readonly node: string;
  /** Folder of the volumes that are made on this node: nothing outside of it is ever removed. */
  readonly folder: string;
  /** Pods that are still on this machine, also those whose objects are gone. */
  readonly pods: () => Iterable<Pod>;
  readonly log: Logger;
}

/** Removes the directories of volumes that go, when intake says that this node is to. Said again until it is acknowledged, also to the next agent. */
export class VolumeRemover {
  readonly #options: VolumeRemoverOptions;
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  /** By uid of the volume. What is told is a change of the volume, of which this agent hears again: not at once once more. */
  readonly #toldAt = new Map<string, number>();
  #stopped = false;

  constructor(options: VolumeRemoverOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus, node } = this.#options;
    this.#subscription = await bus.subscribe(messages.nodeVolume, { node }, () => this.#look());
    this.#timer = setInterval(() => this.#look(), askEveryMs);
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#subscription?.stop();
    await Promise.race([this.#looking, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
  }

  #look(): void {
    if (this.#stopped) return;
    if (this.#looking !== undefined) {
      this.#again = true;
      return;
    }
    this.#looking = this.#removeAll()
      .catch((error: unknown) => this.#stopped || this.#options.log.warn({ err: error }, 'the volumes to remove cannot be asked for now; trying again'))
      .then(() => {
        this.#looking = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.#look();
      });
  }

  async #removeAll(): Promise<void> {
    const { bus, node, log } = this.#options;
    let after: string | undefined;
    do {
      const { volumes, next } = await bus.request(messages.nodeVolumes, { node }, after === undefined ? {} : { after });
      for (const object of volumes) {
        if (this.#stopped) return;
        const volume = object as unknown as PersistentVolume;
        const { name, uid } = volume.metadata;
        try {
          if (this.#isUsed(volume)) continue;
          await this.#remove(volume);
          await bus.request(messages.nodeWrite, { node }, { operation: 'volumeRemoved', name, uid });
          this.#toldAt.delete(uid);
          log.info({ volume: name }, 'the directory of a volume is removed');
        } catch (error) {
          log.warn({ err: error, volume: name }, 'the directory of a volume is not removed; trying again');
          await this.#tellKept(volume, (error as Error).message);
        }
      }
      after = next;
    } while (after !== undefined);
  }

  async #tellKept({ metadata: { name, uid }, status }: PersistentVolume, why: string): Promise<void> {
    const { bus, node, log } = this.#options;
    const message = `the directory of the volume is not removed: ${why}`.slice(0, 1024);
    if (status?.message === message || Date.now() < (this.#toldAt.get(uid) ?? 0) + tellEveryMs) return;
    this.#toldAt.set(uid, Date.now());
    await bus.request(messages.nodeWrite, { node }, { operation: 'volumeKept', name, uid, message }).catch((error: unknown) => log.warn({ err: error, volume: name }, 'nobody could be told why the directory of a volume is not removed'));
  }

  /** A container may go on for a while after its pod was deleted by force. A pod that is younger than the volume's end has another volume by a claim of the same name. */
  #isUsed({ metadata: { deletionTimestamp = '' }, spec: { claimRef } }: PersistentVolume): boolean {
    const mayHave = ({ metadata }: Pod): boolean => deletionTimestamp === '' || (metadata.creationTimestamp ?? '') < deletionTimestamp;
    return [...this.#options.pods()].some((pod) => pod.metadata.namespace === claimRef?.namespace && claimsOf(pod).includes(claimRef?.name ?? '') && mayHave(pod));
  }

  async #remove({ metadata: { name }, spec: { nfs, hostPath, mountOptions, persistentVolumeReclaimPolicy } }: PersistentVolume): Promise<void> {
    const { folder } = this.#options;
    // Whoever asks: data go with the volume only where that was agreed.
    if (persistentVolumeReclaimPolicy !== 'Delete') throw new Error(`the reclaim policy of volume ${name} is ${persistentVolumeReclaimPolicy}: its directory stays`);
    if (nfs !== undefined) {
      // Only what was made under the name of the volume.
      if (!nfs.path.endsWith(`/${name}`)) throw new Error(`${nfs.path} was not made for volume ${name}`);
      return removeOnServer(nfs, join(folder, `.${name}`), mountOptions);
    }
    const path = join(folder, name);
    if (hostPath?.path !== path) throw new Error(`${hostPath?.path} is not the directory of volume ${name} below ${folder}`);
    if ((await mountsBelow(path)).length > 0) throw new Error(`something is mounted below ${path}`);
    await removeTree(path);
    const left = await lstat(path).catch(() => undefined);
    if (left !== undefined) throw new Error(`${path} is still there`);
  }
}
