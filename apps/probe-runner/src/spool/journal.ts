import type { WorkOrder } from '@roundsman/api';
import { mkdir, readFile, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keyOf } from '../round/key.ts';
import { messageOf, type RunnerLog } from '../log.ts';

export interface Begun {
  readonly order: WorkOrder;
  /** How often the round was started on this runner. */
  readonly attempts: number;
}

const aside = '.new';

/**
 * The rounds that were begun and have no result yet. A runner that was killed takes them up again as soon as it is back
 * rather than when the stream delivers them again. Holds no materials.
 */
export class Journal {
  readonly #folder: string;
  readonly #log: RunnerLog;

  constructor(folder: string, log: RunnerLog) {
    this.#folder = folder;
    this.#log = log;
  }

  /** What was begun and not ended by an earlier process. */
  async open(): Promise<Begun[]> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const begun: Begun[] = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      // Never finished: what it was to replace, if anything, is beside it.
      if (name.endsWith(aside)) {
        await unlink(path);
        continue;
      }
      try {
        begun.push(JSON.parse(await readFile(path, 'utf8')) as Begun);
      } catch (error) {
        // Cut off while it was written: the stream delivers the order again.
        this.#log.warn({ file: path, error: messageOf(error) }, 'an order that was begun cannot be read; waiting for it to be delivered again');
        await unlink(path);
      }
    }
    return begun;
  }

  async begin(order: WorkOrder, attempts: number): Promise<void> {
    const path = this.#path(keyOf(order));
    await writeFile(`${path}${aside}`, JSON.stringify({ order, attempts } satisfies Begun), { mode: 0o600 });
    await rename(`${path}${aside}`, path);
  }

  async end(key: string): Promise<void> {
    await unlink(this.#path(key)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
  }

  #path(key: string): string {
    return join(this.#folder, encodeURIComponent(key));
  }
}
