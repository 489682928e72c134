import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Full path of a program on PATH. */
export function onPath(name: string): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && executable(path)) return path;
  }
  return undefined;
}

export function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** First version number in what `<command> --version` prints; undefined when it does not run. */
export function versionOf(command: string, args: readonly string[] = ['--version']): string | undefined {
  try {
    const text = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 20_000, cwd: '/' });
    return /(\d+(?:\.\d+)+|\d+)/.exec(text)?.[1];
  } catch {
    return undefined;
  }
}

/** `2.15.2` is at least `[2, 12]`. */
export function atLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, wanted] of least.entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

/** Runs to its end; `problem` is what it said on standard error when it failed. */
export function tryRun(command: string, args: readonly string[], options: { env?: NodeJS.ProcessEnv; timeoutMs?: number } = {}): { ok: boolean; output: string; problem: string } {
  const done = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: options.timeoutMs ?? 300_000, env: options.env ?? process.env });
  const problem = done.error?.message ?? (done.status === 0 ? '' : lastLines(done.stderr || done.stdout || `exit code ${done.status}`));
  return { ok: done.status === 0, output: done.stdout ?? '', problem };
}

const lastLines = (text: string): string => text.trim().split('\n').slice(-3).join(' / ');

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** A system account by name. */
export function account(name: string): Account | undefined {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [entry, , uid, gid] = line.split(':');
    if (entry === name && uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** Folder by folder: Node's own `recursive` never returns where a folder cannot be made and its parent is there (`/proc/x`). */
export function makeFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Somebody made it in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Whether an account may pass through every folder above (and including) this one. */
export function reachable(folder: string, { uid, gid }: Account): boolean {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { mode, uid: owner, gid: group } = statSync(at);
      const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    } catch {
      // Not there yet: its parent decides.
    }
    if (at === dirname(at)) return true;
  }
}
