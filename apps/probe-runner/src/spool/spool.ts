import type { RoundResult } from '@roundsman/api';
import { mkdir, open, readFile, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { keyOf } from '../round/key.ts';
import { messageOf, type RunnerLog } from '../log.ts';

/** One result on disk that is not known to be in Postgres. */
export interface Spooled {
  readonly key: string;
  readonly bytes: number;
  /** When it was put here, milliseconds. */
  readonly createdAt: number;
  /** Stands for a result that had to be thrown away. */
  readonly marker: boolean;
}

interface Header {
  readonly createdAt: number;
  readonly marker: boolean;
}

export interface SpoolOptions {
  readonly folder: string;
  /** Bytes on disk, markers included. Above it the oldest results go, each replaced by a marker that says so. */
  readonly maxBytes: number;
  readonly log: RunnerLog;
}

const ending = '.jsonl';

/**
 * Results on disk until they are in Postgres: one file per round, a header line and one line per part, written aside, synced,
 * and renamed. Whatever is in here survives a crash of the runner and of the machine.
 */
export class Spool {
  readonly #options: SpoolOptions;
  /** Oldest first. */
  readonly #entries = new Map<string, Spooled>();
  #bytes = 0;
  /** Results thrown away for lack of room, and files that could not be read, since the start. */
  dropped = 0;
  unreadable = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Oldest first. */
  entries(): Spooled[] {
    return [...this.#entries.values()];
  }

  /** Finds what an earlier process left. A file that cannot be read is set aside and counted, never sent half. */
  async open(): Promise<void> {
    const { folder, log } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found: Spooled[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.endsWith('.new')) {
        await unlink(path);
        continue;
      }
      if (!name.endsWith(ending)) continue;
      const key = decodeURIComponent(name.slice(0, -ending.length));
      try {
        const { header } = await this.#load(key);
        found.push({ key, bytes: (await stat(path)).size, ...header });
      } catch (error) {
        this.unreadable += 1;
        await rename(path, `${path}.unreadable`);
        log.error({ file: path, error: messageOf(error) }, 'a spooled result cannot be read and is set aside; its round will be reported as missing');
      }
    }
    found.sort((a, b) => a.createdAt - b.createdAt);
    for (const entry of found) this.#add(entry);
  }

  /** Resolves when the result is safely on disk. Replaces what was spooled for the round. */
  async put(parts: readonly RoundResult[], marker = false): Promise<Spooled> {
    const first = parts[0];
    if (first === undefined) throw new Error('a result has at least one part');
    const header: Header = { createdAt: Date.now(), marker };
    const text = [header, ...parts].map((line) => `${JSON.stringify(line)}\n`).join('');
    const bytes = Buffer.byteLength(text);
    const key = keyOf(first);
    if (!marker && bytes > this.#options.maxBytes) return this.#drop(key, parts, `it has ${bytes} bytes, more than the whole spool`);
    await this.#write(key, text);
    this.#forget(key);
    const entry = { key, bytes, ...header };
    this.#add(entry);
    await this.#makeRoom(key);
    return entry;
  }

  async read(key: string): Promise<RoundResult[]> {
    return (await this.#load(key)).parts;
  }

  async remove(key: string): Promise<void> {
    await unlink(this.#path(key)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
    this.#forget(key);
  }

  async #makeRoom(newest: string): Promise<void> {
    for (const { key, marker } of this.entries()) {
      if (this.#bytes <= this.#options.maxBytes) return;
      if (key === newest || marker) continue;
      await this.#drop(key, await this.read(key), 'it was the oldest');
    }
    // Nothing but markers left: even they must not fill the disk.
    for (const { key, marker } of this.entries()) {
      if (this.#bytes <= this.#options.maxBytes) return;
      if (key === newest || !marker) continue;
      this.#options.log.error({ round: key }, 'the spool is full of markers; one is removed and its round will be reported as missing');
      await this.remove(key);
    }
  }

  /** Puts a marker in place of a result. */
  async #drop(key: string, parts: readonly RoundResult[], why: string): Promise<Spooled> {
    this.dropped += 1;
    const last = parts.at(-1)!;
    const reason = `the result was thrown away on the runner: its spool of ${this.#options.maxBytes} bytes was full and ${why}`;
    this.#options.log.error({ round: key, maxBytes: this.#options.maxBytes }, reason);
    const outcome = last.outcome === undefined ? undefined : { ...last.outcome, state: 'error' as const, reason, targetCount: 0 };
    return this.put([{ ...last, part: 1, parts: 1, targets: [], ...(outcome === undefined ? {} : { outcome }) }], true);
  }

  async #write(key: string, text: string): Promise<void> {
    const path = this.#path(key);
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
    const folder = await open(this.#options.folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async #load(key: string): Promise<{ header: Header; parts: RoundResult[] }> {
    const [first, ...lines] = (await readFile(this.#path(key), 'utf8')).trimEnd().split('\n');
    const header = JSON.parse(first ?? '') as Header;
    const parts = lines.map((line) => JSON.parse(line) as RoundResult);
    if (parts.length === 0 || parts.length !== parts[0]?.parts) throw new Error(`${parts.length} parts, ${parts[0]?.parts ?? 'some'} expected`);
    return { header, parts };
  }

  #add(entry: Spooled): void {
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes;
  }

  #forget(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #path(key: string): string {
    return join(this.#options.folder, `${encodeURIComponent(key)}${ending}`);
  }
}
