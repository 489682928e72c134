import { access, mkdir, readFile, rmdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { isMounted, unmountBelow } from '../mounts.ts';
import { runChild } from '../child.ts';

const mountMs = 30_000;
const answerMs = 5_000;
/** Large directories take their time. */
const removeMs = 300_000;

export interface Export {
  readonly server: string;
  readonly path: string;
}

export interface NfsOptions {
  readonly readOnly: boolean;
  readonly options?: readonly string[] | undefined;
}

/** Mounts a directory of an NFS server; nothing when it is mounted already. Throws an Error that says what is missing and how to get it. */
export async function mountNfs({ server, path }: Export, target: string, { readOnly, options = [] }: NfsOptions): Promise<void> {
  if (await isMounted(target)) return;
  await mkdir(target, { recursive: true });
  const host = server.includes(':') ? `[${server}]` : server;
  const all = [...options, readOnly ? 'ro' : 'rw'];
  try {
    await runChild('mount', ['-t', 'nfs', '-o', all.join(','), `${host}:${path}`, target], mountMs);
  } catch (error) {
    throw new Error(`mounting ${host}:${path} failed: ${(error as Error).message}${await lacking()}`, { cause: error });
  }
}

/** What this machine lacks for NFS, and how to get it. */
async function lacking(): Promise<string> {
  const parts: string[] = [];
  const helper = await Promise.any(['/sbin/mount.nfs', '/usr/sbin/mount.nfs'].map((file) => access(file))).then(() => true, () => false);
  if (!helper) parts.push('mount.nfs is missing: install nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, RHEL)');
  const known = (await readFile('/proc/filesystems', 'utf8')).split('\n').some((line) => /\tnfs4?$/.test(line));
  if (!known) parts.push('the kernel has no NFS client now (/proc/filesystems): load its module with `modprobe nfs`, or use a kernel that has one');
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

/** Does what has to be done in the directory above one on the server; `work` is told where that is. */
async function inParent({ server, path }: Export, at: string, options: readonly string[] | undefined, work: (child: string) => Promise<void>): Promise<void> {
  await mountNfs({ server, path: posix.dirname(path) }, at, { readOnly: false, options });
  try {
    await work(posix.join(at, posix.basename(path)));
  } finally {
    await unmountBelow(at);
    await rmdir(at);
  }
}

/** Makes a directory on the server, for everybody to write to. `at`: a place to mount at meanwhile. */
export const makeOnServer = (directory: Export, at: string, options: readonly string[] | undefined): Promise<void> =>
  inParent(directory, at, options, async (child) => void (await runChild('sh', ['-c', '[ -d "$1" ] || { mkdir -- "$1" && chmod 0777 -- "$1"; }', 'sh', child], mountMs)));

/** Removes a directory on the server with all that is in it, following no link. */
export const removeOnServer = (directory: Export, at: string, options: readonly string[] | undefined): Promise<void> => inParent(directory, at, options, (child) => removeTree(child));

/** Removes a directory with all that is in it; follows no link and leaves other file systems alone. */
export async function removeTree(path: string): Promise<void> {
  await runChild('rm', ['-rf', '--one-file-system', '--', path], removeMs);
}

/** Throws when what is mounted there does not answer: nobody in this process is to wait for it. */
export async function answers(path: string): Promise<void> {
  await runChild('stat', ['--', path], answerMs);
}
