import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Payload } from './payload.ts';

const current = '..data';

/**
 * Makes a folder show a payload, as the kubelet does: the files lie in a folder of their own, `..data` points to it, and each name points
 * through `..data`. A change makes a new folder and swings `..data` over, so that a reader sees all of the old or all of the new.
 * `group`: owner of folders and files besides root, who may read. Whether anything was written.
 */
export async function writePayload(folder: string, payload: Payload, group: number | undefined): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  await own(folder, 0o777, group);
  const before = await readlink(join(folder, current)).catch(() => undefined);
  if (before !== undefined && (await shows(join(folder, before), payload, group))) return false;

  const fresh = `..${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '_').replace('T', '_')}.${randomBytes(4).readUInt32BE()}`;
  await mkdir(join(folder, fresh));
  await own(join(folder, fresh), 0o755, group);
  for (const [path, { bytes, mode }] of payload) {
    const file = join(folder, fresh, path);
    await makeFolders(join(folder, fresh), dirname(path), group);
    await writeFile(file, bytes);
    await own(file, modeFor(mode, group), group);
  }
  await rm(join(folder, `${current}_tmp`), { force: true });
  await symlink(fresh, join(folder, `${current}_tmp`));
  await rename(join(folder, `${current}_tmp`), join(folder, current));
  await showNames(folder, new Set([...payload.keys()].map((path) => path.split('/')[0] ?? path)));
  for (const name of await readdir(folder)) if (name.startsWith('..2') && name !== fresh) await rm(join(folder, name), { recursive: true, force: true });
  return true;
}

const modeFor = (mode: number, group: number | undefined): number => (group === undefined ? mode : mode | 0o440);

/** Modes are set apart from making: the umask does not count. */
async function own(path: string, mode: number, group: number | undefined): Promise<void> {
  const isFolder = (await stat(path)).isDirectory();
  if (group !== undefined) await chown(path, process.getuid?.() ?? 0, group);
  await chmod(path, isFolder && group !== undefined ? mode | 0o2550 : mode);
}

async function makeFolders(root: string, path: string, group: number | undefined): Promise<void> {
  let folder = root;
  for (const part of path.split('/')) {
    if (part === '.') return;
    folder = join(folder, part);
    await mkdir(folder, { recursive: true });
    await own(folder, 0o755, group);
  }
}

/** Whether the folder holds just these files. */
async function shows(folder: string, payload: Payload, group: number | undefined): Promise<boolean> {
  const found = (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])).filter((entry) => !entry.isDirectory());
  if (found.length !== payload.size) return false;
  for (const [path, { bytes, mode }] of payload) {
    const file = join(folder, path);
    const [content, facts] = await Promise.all([readFile(file).catch(() => undefined), lstat(file).catch(() => undefined)]);
    if (content === undefined || facts === undefined || !content.equals(bytes) || (facts.mode & 0o7777) !== modeFor(mode, group)) return false;
    if (group !== undefined && facts.gid !== group) return false;
  }
  return true;
}

/** Each name in the folder points to the one below `..data`; names that are no more go. */
async function showNames(folder: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const link = join(folder, name);
    const target = join(current, name);
    if ((await readlink(link).catch(() => undefined)) === target) continue;
    await rm(link, { recursive: true, force: true });
    await symlink(target, link);
  }
  for (const name of await readdir(folder)) if (!name.startsWith('..') && !names.has(name)) await rm(join(folder, name), { recursive: true, force: true });
}
