import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const environment = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin` };

/** One whose server does not answer is let go of at once; more would be a fault. */
const unmountMs = 10_000;

/** Where file systems are mounted at or below a folder, the deepest first. */
export async function mountsBelow(folder: string): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  const unescape = (text: string): string => text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
  return table
    .split('\n')
    .map((line) => unescape(line.split(' ')[4] ?? ''))
    .filter((mount) => mount === folder || mount.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
}

/** A file system in memory at the folder; `bytes`: the most it may hold. Needs root. */
export async function mountMemory(folder: string, bytes: number | undefined): Promise<void> {
  if ((await mountsBelow(folder)).includes(folder)) return;
  await run('mount', ['-t', 'tmpfs', '-o', ['rw', 'mode=0777', ...(bytes === undefined ? [] : [`size=${bytes}`])].join(','), 'tmpfs', folder], { env: environment });
}

/** Shows what is at `source` at `target`, too. The source is taken as it is given, not as what it is called elsewhere. Needs root. */
export async function bindMount(source: string, target: string): Promise<void> {
  await run('mount', ['--no-canonicalize', '--bind', source, target], { env: environment });
}

/** Unmounts all at or below a folder. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const mount of await mountsBelow(folder)) await run('umount', ['-l', mount], { env: environment, timeout: unmountMs, killSignal: 'SIGKILL' });
}
