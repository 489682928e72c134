import { constants } from 'node:fs';
import { mkdir, open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';

/** Linux: a handle of a place, without reading it (open(2)). */
const pathOnly = 0o10000000;

/** A place in a volume, held: what is at it can be moved or replaced, and it still is what was checked. */
export interface HeldPath {
  /** Valid until released. */
  readonly path: string;
  release(): Promise<void>;
}

/**
 * Holds `subPath` of the volume at `root`, made as a folder if nothing is there. Links within the volume are followed, none out of it: whoever
 * writes to the volume must not be able to have anything else of the machine mounted. So the resolved path is walked once more without following
 * any link, and what that arrives at is what is mounted.
 */
export async function holdSubPath(root: string, subPath: string): Promise<HeldPath> {
  if (isAbsolute(subPath) || subPath.split('/').includes('..')) throw new Error(`subPath "${subPath}" must not be absolute or contain ".."`);
  const base = await realpath(root);
  await makeIfMissing(base, subPath);
  const inside = relative(base, await realpath(join(base, subPath)));
  if (inside === '..' || inside.startsWith('../') || isAbsolute(inside)) throw new Error(`subPath "${subPath}" leads out of its volume`);
  const handle = await walk(base, inside === '' ? [] : inside.split('/'));
  return { path: `/proc/${process.pid}/fd/${handle.fd}`, release: () => handle.close() };
}

async function walk(base: string, parts: readonly string[]): Promise<FileHandle> {
  let here = await open(base, pathOnly | constants.O_DIRECTORY);
  for (const part of parts) {
    const next = await open(`/proc/self/fd/${here.fd}/${part}`, pathOnly | constants.O_NOFOLLOW).finally(() => here.close());
    // With these flags a link is opened itself; mounting its handle would follow it.
    if ((await next.stat()).isSymbolicLink()) {
      await next.close();
      throw new Error(`"${part}" became a link while it was looked at`);
    }
    here = next;
  }
  return here;
}

/** Makes the missing last parts as folders with the volume's permissions, none of them through a link that leads out. */
async function makeIfMissing(base: string, subPath: string): Promise<void> {
  const { mode, gid } = await stat(base);
  let path = base;
  for (const part of subPath.split('/')) {
    if (part === '' || part === '.') continue;
    const next = join(path, part);
    try {
      path = await realpath(next);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await readlink(next).catch(() => undefined)) !== undefined) throw error;
      const handle = await walk(base, relative(base, path) === '' ? [] : relative(base, path).split('/'));
      try {
        const made = `/proc/self/fd/${handle.fd}/${part}`;
        await mkdir(made);
        const folder = await open(made, constants.O_DIRECTORY | constants.O_NOFOLLOW);
        await folder.chown(process.getuid?.() ?? 0, process.getuid?.() === 0 ? gid : (process.getgid?.() ?? 0)).finally(() => folder.chmod(mode & 0o7777).finally(() => folder.close()));
      } finally {
        await handle.close();
      }
      path = next;
    }
    const inside = relative(base, path);
    if (inside.startsWith('..') && inside.split('/')[0] === '..') throw new Error(`subPath "${subPath}" leads out of its volume`);
  }
}
