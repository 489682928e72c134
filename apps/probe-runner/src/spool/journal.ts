import type { WorkOrder } from '@roundsman/api';
import { mkdir, readFile, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import type { Measured } from '@roundsman/probes';
import { join } from 'node:path';
import { keyOf } from '../round/key.ts';
import { messageOf, type RunnerLog } from '../log.ts';
import { readMeasured, removeFile } from './measured.ts';

export interface Begun {
  readonly order: WorkOrder;
  /** How often the round was started on this runner. */
  readonly attempts: number;
}

const aside = '.new';
const measuredEnding = '.measured';

/**
 * The rounds that were begun and have no result yet. A runner that was killed takes them up again as soon as it is back
 * rather than when the stream delivers them again. Holds no materials, and beside each order what its round had measured some seconds ago.
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
    const names = new Set(await readdir(this.#folder));
    for (const name of names) {
      const path = join(this.#folder, name);
      // Never finished: what it was to replace, if anything, is beside it.
      if (name.endsWith(aside)) {
        await unlink(path);
        continue;
      }
      if (name.endsWith(measuredEnding)) {
        // Of a round that ended while it was written.
        if (!names.has(name.slice(0, -measuredEnding.length))) await unlink(path);
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

  /** Where the round writes what it has measured so far (`keepMeasured`). */
  measuredFile(key: string): string {
    return `${this.#path(key)}${measuredEnding}`;
  }

  /** What a round that did not end by itself had measured; undefined when nothing is known of it. */
  async measured(key: string): Promise<Measured | undefined> {
    try {
      return await readMeasured(this.measuredFile(key));
    } catch (error) {
      this.#log.warn({ round: key, error: messageOf(error) }, 'what the round had measured cannot be read');
      return undefined;
    }
  }

  async end(key: string): Promise<void> {
    await removeFile(this.#path(key));
    await removeFile(this.measuredFile(key));
  }

  #path(key: string): string {
    return join(this.#folder, encodeURIComponent(key));
  }
}
