import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ChildProblem, runChild } from './child.ts';

const run = promisify(execFile);
const environment = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin` };

const answerMs = 5_000;
/** One whose server does not answer is let go of at once; more would be a fault. */
const unmountMs = 10_000;

/**
 * Where file systems are mounted at or below a folder, the deepest first. The kernel names them by where they really are: links above the folder are followed,
 * or a mount would be overlooked and what lies behind it be removed with the folder. The folder itself is not touched: a server may be behind it that does not answer.
 */
export async function mountsBelow(given: string): Promise<string[]> {
  const folder = await placeOf(given);
  return mountsOf(await mountTable())
    .map(({ at }) => at)
    .filter((mount) => mount === folder || mount.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
}

const mountTable = (): Promise<string> => readFile('/proc/self/mountinfo', 'utf8');

function mountsOf(table: string): { readonly at: string; readonly type: string }[] {
  const unescape = (text: string): string => text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
  return table.split('\n').map((line) => ({ at: unescape(line.split(' ')[4] ?? ''), type: line.split(' - ')[1]?.split(' ')[0] ?? '' }));
}

/** Of file systems that a server, or another program, is behind. */
const remoteType = /^(nfs|cifs|smb|ceph|9p|fuse|glusterfs|lustre|afs)/;

/** Whether a path lies on a file system that may stop answering. By its name alone: to follow links could be to wait for ever. */
export function isRemote(path: string, table: string): boolean {
  const [on] = mountsOf(table)
    .filter(({ at }) => at !== '' && (at === path || path.startsWith(at === '/' ? at : `${at}/`)))
    // Of several at one place the last one is seen.
    .toReversed()
    .sort((a, b) => b.at.length - a.at.length);
  return on !== undefined && remoteType.test(on.type);
}

/** Throws when a path of this machine lies on a file system that does not answer now: nobody in this process is to wait for it. */
export async function checkAnswers(path: string): Promise<void> {
  if (!isRemote(path, await mountTable())) return;
  await runChild('stat', ['--', path], answerMs).catch((error: unknown) => {
    if (error instanceof ChildProblem && error.gaveUp) throw new Error(`the file system of ${path} does not answer: ${error.message}`, { cause: error });
  });
}

/** Whether a file system is mounted at this very place. */
export const isMounted = async (folder: string): Promise<boolean> => (await mountsBelow(folder)).includes(await placeOf(folder));

const placeOf = async (folder: string): Promise<string> => join(await realpathOf(dirname(folder)), basename(folder));

/** Of a folder that is not there yet: as far as there is something. */
async function realpathOf(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || folder === dirname(folder)) throw error;
    return join(await realpathOf(dirname(folder)), basename(folder));
  }
}

/** A file system in memory at the folder; `bytes`: the most it may hold. Needs root. */
export async function mountMemory(folder: string, bytes: number | undefined): Promise<void> {
  if (await isMounted(folder)) return;
  await run('mount', ['-t', 'tmpfs', '-o', ['rw', 'mode=0777', ...(bytes === undefined ? [] : [`size=${bytes}`])].join(','), 'tmpfs', folder], { env: environment });
}

/** Shows what is at `source` at `target`, too. The source is taken as it is given, not as what it is called elsewhere. Needs root. */
export async function bindMount(source: string, target: string): Promise<void> {
  await run('mount', ['--no-canonicalize', '--bind', source, target], { env: environment });
}

/** Unmounts all at or below a folder. Throws when something stays mounted: what is behind it must not be removed with the folder. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const mount of await mountsBelow(folder)) await run('umount', ['-l', mount], { env: environment, timeout: unmountMs, killSignal: 'SIGKILL' });
  const left = await mountsBelow(folder);
  if (left.length > 0) throw new Error(`${left.join(', ')} is still mounted`);
}
