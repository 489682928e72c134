import { mkdir, open, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import type { Volume } from '@roundsman/api';
import { checkAnswers } from './mounts.ts';
import { VolumeProblem } from './volume-problem.ts';

type HostPath = NonNullable<Volume['hostPath']>;

const isKind: Record<string, { readonly is: (found: Stats) => boolean; readonly words: string }> = {
  Directory: { is: (found) => found.isDirectory(), words: 'a directory' },
  DirectoryOrCreate: { is: (found) => found.isDirectory(), words: 'a directory' },
  File: { is: (found) => found.isFile(), words: 'a file' },
  FileOrCreate: { is: (found) => found.isFile(), words: 'a file' },
  Socket: { is: (found) => found.isSocket(), words: 'a socket file' },
  CharDevice: { is: (found) => found.isCharacterDevice(), words: 'a character device' },
  BlockDevice: { is: (found) => found.isBlockDevice(), words: 'a block device' },
};

/** Checks that what the volume names is there and of its kind; makes it where the kind says so, and a directory where none is named. */
export async function prepareHostPath(volume: string, { path, type = '' }: HostPath): Promise<string> {
  const refused = (message: string, cause?: unknown): VolumeProblem => new VolumeProblem(volume, message, { cause });
  try {
    await checkAnswers(path);
    let found = await look(path);
    if (found === undefined && (type === '' || type === 'DirectoryOrCreate')) {
      await mkdir(path, { recursive: true, mode: 0o755 });
      found = await look(path);
    } else if (found === undefined && type === 'FileOrCreate') {
      await (await open(path, 'a', 0o644)).close();
      found = await look(path);
    }
    const kind = isKind[type];
    if (kind !== undefined && (found === undefined || !kind.is(found))) throw refused(`hostPath type check failed: ${path} is not ${kind.words}`);
    return path;
  } catch (error) {
    throw error instanceof VolumeProblem ? error : refused((error as Error).message, error);
  }
}

const look = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
