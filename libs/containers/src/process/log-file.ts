import { copyFile, open, readFile, rm, stat, truncate } from 'node:fs/promises';

/** The output of one container: it writes the file itself, so that it goes on when whoever started it is gone. */
export class LogFile {
  readonly #path: string;
  readonly #mostBytes: number;

  constructor(path: string, mostBytes: number) {
    this.#path = path;
    this.#mostBytes = mostBytes;
  }

  /** For appending; the writer keeps its place at the end also when the file is cut. */
  open(): ReturnType<typeof open> {
    return open(this.#path, 'a', 0o600);
  }

  /** Keeps the file within its half of the limit: what there is becomes the older file, and it starts again from nothing. */
  async rotate(): Promise<void> {
    const size = await sizeOf(this.#path);
    if (size <= this.#mostBytes / 2) return;
    await copyFile(this.#path, this.#older);
    await truncate(this.#path);
    if (size > this.#mostBytes) await truncateHead(this.#older, Math.floor(this.#mostBytes / 2));
  }

  async tail(lines: number): Promise<string> {
    const text = (await readText(this.#older)) + (await readText(this.#path));
    const all = text.split('\n');
    // The newline at the end makes no line.
    if (all.at(-1) === '') all.pop();
    return all.slice(-lines).map((line) => `${line}\n`).join('');
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
    await rm(this.#older, { force: true });
  }

  get #older(): string {
    return `${this.#path}.1`;
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Keeps the last bytes of a file that grew faster than it was looked at. */
async function truncateHead(path: string, keep: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    const kept = Buffer.alloc(Math.min(keep, size));
    await file.read(kept, 0, kept.length, size - kept.length);
    await file.truncate(0);
    await file.write(kept, 0, kept.length, 0);
  } finally {
    await file.close();
  }
}
