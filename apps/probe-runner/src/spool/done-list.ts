import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';

/** The rounds whose results are in Postgres, newest last: a work order that comes again is acked and not run again. Bounded. */
export class DoneList {
  readonly #file: string;
  readonly #most: number;
  readonly #keys = new Set<string>();
  #lines = 0;

  constructor(file: string, most = 2_000) {
    this.#file = file;
    this.#most = most;
  }

  async open(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    // Without its newline a last line was cut off by a crash.
    const lines = text.split('\n').slice(0, -1);
    this.#lines = lines.length;
    for (const key of lines.slice(-this.#most)) this.#keys.add(key);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  async add(keys: readonly string[]): Promise<void> {
    const fresh = keys.filter((key) => !this.#keys.has(key));
    if (fresh.length === 0) return;
    for (const key of fresh) this.#keys.add(key);
    for (const key of this.#keys) {
      if (this.#keys.size <= this.#most) break;
      this.#keys.delete(key);
    }
    this.#lines += fresh.length;
    if (this.#lines > 2 * this.#most) {
      await writeFile(`${this.#file}.new`, [...this.#keys].map((key) => `${key}\n`).join(''), { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
      this.#lines = this.#keys.size;
    } else {
      await appendFile(this.#file, fresh.map((key) => `${key}\n`).join(''), { mode: 0o600 });
    }
  }
}
