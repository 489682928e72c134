import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from './user-error.ts';

const environment = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin` };
const table = '/proc/self/mountinfo';

/** Where file systems are mounted below a folder, the deepest first. The folder is where it really is, as the kernel names it. */
function mountsBelow(folder: string): string[] {
  if (!existsSync(folder) || !existsSync(table)) return [];
  const real = join(realpathSync(dirname(folder)), folder.slice(dirname(folder).length));
  const unescape = (text: string): string => text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
  return readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => unescape(line.split(' ')[4] ?? ''))
    .filter((mount) => mount.startsWith(`${real}/`))
    .sort((a, b) => b.length - a.length);
}

/** Takes away what pods had mounted below a folder; answers what stays mounted. */
export function unmountBelow(folder: string): readonly string[] {
  for (const mount of mountsBelow(folder)) {
    try {
      execFileSync('umount', ['-l', mount], { env: environment, timeout: 10_000, killSignal: 'SIGKILL', stdio: 'pipe' });
    } catch {
      // The answer says what is still there.
    }
  }
  return mountsBelow(folder);
}

/**
 * The same for a folder that is to be removed: behind a mount lies what belongs to others (a volume that is to be kept, a directory of a server), and removing
 * the folder would remove it there. Throws when something stays mounted.
 */
export function unmountToRemove(folder: string): void {
  const left = unmountBelow(folder);
  if (left.length > 0) throw new UserError(`${left.join(', ')} is still mounted: nothing was removed, it would be removed behind the mount, too`, `As root: umount -l ${left.join(' ')}, then again.`);
}
