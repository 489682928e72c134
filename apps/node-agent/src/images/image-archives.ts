import { archivedImages, type PodRuntime } from '@roundsman/containers';
import type { Logger } from 'pino';

export interface ImageArchivesOptions {
  readonly runtime: Pick<PodRuntime, 'image' | 'loadImages' | 'removeOldBuilds'>;
  /** Which daemon that is: nodes of one process that share it load an archive once. */
  readonly daemon: string;
  /** Files as `docker save` writes them. */
  readonly files: readonly string[];
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Loads under way, by daemon and file. */
const loading = new Map<string, Promise<void>>();

/** Images that lie on this machine as archives: no registry has them. */
export class ImageArchives {
  readonly #options: ImageArchivesOptions;
  /** By file; read once. */
  readonly #tags = new Map<string, Promise<readonly string[]>>();

  constructor(options: ImageArchivesOptions) {
    this.#options = options;
  }

  /** Loads what the daemon does not have, or has of another build. What fails is only logged: whoever wants the image tries again. */
  async start(): Promise<void> {
    const { files, log } = this.#options;
    for (const file of files) {
      await this.#bringCurrent(file).catch((error: unknown) => log.warn({ err: error, file }, 'the images of an archive could not be loaded'));
    }
  }

  /** Loads the archive that has this image; false: none that can be read has it. Throws when it cannot be loaded. */
  async load(reference: string): Promise<boolean> {
    for (const file of this.#options.files) {
      const tags = await this.#tagsOf(file).catch((error: unknown) => void this.#options.log.warn({ err: error, file }, 'an archive of images cannot be read'));
      if (tags?.includes(reference) !== true) continue;
      await this.#load(file);
      return true;
    }
    return false;
  }

  /** Tags of one archive that name different images were moved by another one. */
  async #bringCurrent(file: string): Promise<void> {
    const present = await Promise.all((await this.#tagsOf(file)).map((tag) => this.#options.runtime.image(tag)));
    if (present.some((image) => image === undefined) || new Set(present.map((image) => image?.id)).size > 1) await this.#load(file);
  }

  #tagsOf(file: string): Promise<readonly string[]> {
    const known = this.#tags.get(file);
    if (known !== undefined) return known;
    const read = archivedImages(file);
    this.#tags.set(file, read);
    read.catch(() => this.#tags.delete(file));
    return read;
  }

  #load(file: string): Promise<void> {
    const { daemon } = this.#options;
    const key = `${daemon}\n${file}`;
    const running = loading.get(key);
    if (running !== undefined) return running;
    const load = this.#loadNow(file).finally(() => loading.delete(key));
    loading.set(key, load);
    return load;
  }

  /** A new build takes the place of those before it, which would fill the disk. What another cluster here still wants it loads again. */
  async #loadNow(file: string): Promise<void> {
    const { runtime, files, log } = this.#options;
    await runtime.loadImages(file);
    log.info({ file }, 'images loaded');
    try {
      const kept = (await Promise.all(files.map((one) => this.#tagsOf(one)))).flat();
      const removed = await runtime.removeOldBuilds(kept);
      if (removed.length > 0) log.info({ images: removed }, 'images of older builds removed');
    } catch (error) {
      log.warn({ err: error, file }, 'images of older builds could not be removed');
    }
  }
}
