import type { RoundResult } from '@roundsman/api';
import { mkdir, open, readFile, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { keyOf } from '../round/key.ts';
import { messageOf, type RunnerLog } from '../log.ts';
import { removeFile } from './measured.ts';

/** One result on disk. */
export interface Spooled {
  readonly key: string;
  readonly bytes: number;
  /** When it was put here, milliseconds. */
  readonly createdAt: number;
  /** Stands for a result that had to be thrown away. */
  readonly marker: boolean;
  /** When it was heard to be in Postgres, milliseconds; kept for a while all the same. */
  readonly committedAt?: number;
}

interface Header {
  readonly createdAt: number;
  readonly marker: boolean;
}

export interface SpoolOptions {
  readonly folder: string;
  /** Bytes on disk, markers included. Above it those go that are in Postgres, then the oldest, each replaced by a marker that says so. */
  readonly maxBytes: number;
  readonly log: RunnerLog;
}

/** `<key>.jsonl`; that of a result that is in Postgres also says since when: `<key>.committed-<milliseconds>.jsonl`. */
const fileName = /^(.+?)(?:\.committed-(\d+))?\.jsonl$/;

/**
 * Results on disk until they are in Postgres, and for a while after that: one file per round, a header line and one line per part, written aside, synced,
 * and renamed. Whatever is in here survives a crash of the runner and of the machine.
 */
export class Spool {
  readonly #options: SpoolOptions;
  /** Oldest first. */
  readonly #entries = new Map<string, Spooled>();
  #bytes = 0;
  #newest = 0;
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

  /** Results that are not known to be in Postgres. */
  get pending(): number {
    let count = 0;
    for (const { committedAt } of this.#entries.values()) if (committedAt === undefined) count += 1;
    return count;
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
      const [, encoded, since] = fileName.exec(name) ?? [];
      if (encoded === undefined) continue;
      try {
        const { header } = await load(path);
        found.push({ key: decodeURIComponent(encoded), bytes: (await stat(path)).size, ...header, ...(since === undefined ? {} : { committedAt: Number(since) }) });
      } catch (error) {
        this.unreadable += 1;
        await rename(path, `${path}.unreadable`);
        log.error({ file: path, error: messageOf(error) }, 'a spooled result cannot be read and is set aside; its round will be reported as missing');
      }
    }
    found.sort((a, b) => a.createdAt - b.createdAt);
    for (const entry of found) this.#add(entry);
    this.#newest = found.at(-1)?.createdAt ?? 0;
  }

  /** Resolves when the result is safely on disk. Replaces what was spooled for the round. */
  async put(parts: readonly RoundResult[], marker = false): Promise<Spooled> {
    const first = parts[0];
    if (first === undefined) throw new Error('a result has at least one part');
    // Later than that of every other one, also within a millisecond or by a clock that was set back: after a restart it tells which is older.
    const header: Header = { createdAt: (this.#newest = Math.max(Date.now(), this.#newest + 1)), marker };
    const text = [header, ...parts].map((line) => `${JSON.stringify(line)}\n`).join('');
    const bytes = Buffer.byteLength(text);
    const key = keyOf(first);
    if (!marker && bytes > this.#options.maxBytes) return this.#drop(key, parts, `it has ${bytes} bytes, more than the whole spool`);
    const entry = { key, bytes, ...header };
    await this.#write(this.#path(entry), text);
    if (this.#entries.get(key)?.committedAt !== undefined) await this.remove(key);
    this.#forget(key);
    this.#add(entry);
    await this.#makeRoom(key);
    return entry;
  }

  async read(key: string): Promise<RoundResult[]> {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw new Error('the result is not in the spool');
    return (await load(this.#path(entry))).parts;
  }

  /** It is in Postgres since `committedAt`; undefined: it is not any more. Holds over a restart. */
  async mark(key: string, committedAt: number | undefined): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const { committedAt: _, ...rest } = entry;
    const marked = { ...rest, ...(committedAt === undefined ? {} : { committedAt }) };
    await rename(this.#path(entry), this.#path(marked));
    this.#entries.set(key, marked);
  }

  async remove(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    await removeFile(this.#path(entry));
    this.#forget(key);
  }

  async #makeRoom(newest: string): Promise<void> {
    for (const { key, committedAt } of this.entries()) {
      if (this.#bytes <= this.#options.maxBytes) return;
      if (committedAt !== undefined) await this.remove(key);
    }
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

  async #write(path: string, text: string): Promise<void> {
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

  #add(entry: Spooled): void {
    this.#entries.set(entry.key, entry);
    this.#bytes += entry.bytes;
  }

  #forget(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #path({ key, committedAt }: Pick<Spooled, 'key' | 'committedAt'>): string {
    return join(this.#options.folder, `${encodeURIComponent(key)}${committedAt === undefined ? '' : `.committed-${committedAt}`}.jsonl`);
  }
}

async function load(path: string): Promise<{ header: Header; parts: RoundResult[] }> {
  const [first, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const header = JSON.parse(first ?? '') as Header;
  const parts = lines.map((line) => JSON.parse(line) as RoundResult);
  if (parts.length === 0 || parts.length !== parts[0]?.parts) throw new Error(`${parts.length} parts, ${parts[0]?.parts ?? 'some'} expected`);
  return { header, parts };
}
