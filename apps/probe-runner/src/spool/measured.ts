import type { Measured } from '@roundsman/probes';
import { readFile, rename, unlink, writeFile } from 'node:fs/promises';

/** Writes what a round has measured so far, in place of what it had before. Survives the end of the process, not that of the machine: it is not synced. */
export async function keepMeasured(file: string, measured: Measured): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(measured), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** What was kept last; undefined when nothing was. */
export async function readMeasured(file: string): Promise<Measured | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Measured;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export const removeFile = (path: string): Promise<void> =>
  unlink(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
