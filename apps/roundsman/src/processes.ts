import { readFileSync, readdirSync } from 'node:fs';
import type { RecordedProcess } from './home.ts';
import { account } from './tools.ts';

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly started: string;
}

/** From /proc/<pid>/stat; the command in brackets may hold anything, so reading starts after its last bracket. */
function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, parent: Number(fields[1]), started: fields[19]! };
  } catch {
    return undefined;
  }
}

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);

/** A process as it can be recognised later: a pid alone may by then be another's. */
export function record(name: string, pid: number): RecordedProcess | undefined {
  const stat = statOf(pid);
  return stat === undefined ? undefined : { name, pid, started: `${bootId()}:${stat.started}` };
}

/** Whether it still runs: the same pid with the same start time, and not a zombie. */
export function alive({ pid, started }: RecordedProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.state !== 'Z' && `${bootId()}:${stat.started}` === started;
}

/** Whether it is ours to end: of this user, or when we are root of the account that runs Postgres for us. */
export function ours({ pid }: RecordedProcess): boolean {
  const mine = process.getuid?.();
  const allowed = mine === 0 ? [0, account('postgres')?.uid, account('nobody')?.uid] : [mine];
  try {
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return uid !== undefined && allowed.includes(Number(uid));
  } catch {
    return false;
  }
}

/** Children, their children and so on, as they are now. */
export function descendants(pid: number): RecordedProcess[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  const found: RecordedProcess[] = [];
  const walk = (of: number): void => {
    for (const child of children.get(of) ?? []) {
      const recorded = record(commandOf(child), child);
      if (recorded) found.push(recorded);
      walk(child);
    }
  };
  walk(pid);
  return found;
}

/** What people call it: the package of a Node program (`probe-runner`), the program's name otherwise. */
export function commandOf(pid: number): string {
  try {
    const script = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .find((argument) => /\/dist\/[^/]+\.js$/.test(argument));
    return script?.split('/').at(-3) ?? readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '?';
  }
}

export function signal(one: RecordedProcess, name: NodeJS.Signals): void {
  if (!alive(one)) return;
  try {
    process.kill(one.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Sends the signal, waits until all are gone, then SIGKILL. Only processes that are still the recorded ones, and ours. */
export async function end(all: readonly RecordedProcess[], first: NodeJS.Signals, withinMs: number): Promise<RecordedProcess[]> {
  const running = all.filter((one) => alive(one) && ours(one));
  for (const one of running) signal(one, first);
  if (await gone(running, withinMs)) return running;
  for (const one of running) signal(one, 'SIGKILL');
  await gone(running, 5_000);
  return running;
}

/** True when none of them runs any more. */
export async function gone(all: readonly RecordedProcess[], withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (all.some(alive)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
