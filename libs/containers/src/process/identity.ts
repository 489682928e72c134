import { readFile, readdir } from 'node:fs/promises';

/** One run of one program: a process id alone may be somebody else's by now. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot at which it started. */
  readonly startTime: string;
  readonly bootId: string;
}

/** Variable in the environment of everything that is started here; finds a process whose pidfile was never written. */
export const markerVariable = 'ROUNDSMAN_CONTAINER';

let boot: Promise<string> | undefined;
export const bootId = (): Promise<string> => (boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim()));

/** Fields of /proc/<pid>/stat after the command, which may itself hold blanks and parentheses; undefined when there is no such process. */
async function statOf(pid: number): Promise<string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Undefined when there is no such process, or only what is left of it until its parent asks (a zombie). */
export async function identityOf(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await statOf(pid);
  if (stat === undefined || stat[0] === 'Z' || stat[0] === 'X') return undefined;
  return { pid, startTime: stat[19] ?? '', bootId: await bootId() };
}

/** Whether this very run still goes on. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (identity.bootId !== (await bootId())) return false;
  return (await identityOf(identity.pid))?.startTime === identity.startTime;
}

/** Every process whose environment has this marker: started here, whatever became of our records. */
export async function processesMarked(marker: string): Promise<ProcessIdentity[]> {
  const entry = `${markerVariable}=${marker}`;
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    let environment: string;
    try {
      environment = await readFile(`/proc/${name}/environ`, 'utf8');
    } catch {
      // Gone meanwhile, or another user's: none of ours.
      continue;
    }
    if (!environment.split('\0').includes(entry)) continue;
    const identity = await identityOf(Number(name));
    if (identity !== undefined) found.push(identity);
  }
  return found;
}

/** The process group a process is in; undefined when it is gone. */
export async function groupOf(pid: number): Promise<number | undefined> {
  const stat = await statOf(pid);
  return stat === undefined ? undefined : Number(stat[2]);
}
