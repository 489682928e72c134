import { constants } from 'node:fs';
import { mkdir, open, readlink, realpath, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { bindMount, unmountBelow } from './mounts.ts';

/** Linux: a handle of a place, without reading it (open(2)). */
const pathOnly = 0o10000000;

/**
 * The path to mount for `subPath` of the volume at `root`; it is made as a folder if nothing is there. Links within the volume are followed, none out of
 * it: whoever writes to the volume must not be able to have anything else of the machine mounted. So the resolved path is walked once more without
 * following any link, and what that arrives at is pinned at `target`, whatever is moved or replaced later. Pinning needs root; without it the checked
 * path itself is given, which a program in the pod could still replace before it is mounted.
 */
export async function subPathOf(root: string, subPath: string, target: string): Promise<string> {
  if (isAbsolute(subPath) || subPath.split('/').includes('..')) throw new Error(`subPath "${subPath}" must not be absolute or contain ".."`);
  const base = await realpath(root);
  await makeIfMissing(base, subPath);
  const found = await realpath(join(base, subPath));
  const inside = relative(base, found);
  if (leadsOut(inside)) throw new Error(`subPath "${subPath}" leads out of its volume`);
  if (process.getuid?.() !== 0) return found;
  const handle = await walk(base, partsOf(inside));
  try {
    await pin(handle, target);
    return target;
  } finally {
    await handle.close();
  }
}

const leadsOut = (inside: string): boolean => inside === '..' || inside.startsWith('../') || isAbsolute(inside);
const partsOf = (inside: string): string[] => (inside === '' ? [] : inside.split('/'));

async function pin(handle: FileHandle, target: string): Promise<void> {
  await unmountBelow(target);
  await rm(target, { recursive: true, force: true });
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  if ((await handle.stat()).isDirectory()) await mkdir(target);
  else await writeFile(target, '');
  await bindMount(`/proc/${process.pid}/fd/${handle.fd}`, target);
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
      const handle = await walk(base, partsOf(relative(base, path)));
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
    if (leadsOut(relative(base, path))) throw new Error(`subPath "${subPath}" leads out of its volume`);
  }
}
