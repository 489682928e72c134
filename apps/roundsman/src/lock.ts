import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import type { Home, RecordedProcess } from './home.ts';
import { alive, record } from './processes.ts';

/** Takes the home for this process. Undefined when it has it; otherwise the process that does. */
export function takeHome(home: Home): RecordedProcess | undefined {
  const file = home.file('lock');
  const mine = JSON.stringify(record('supervisor', process.pid));
  for (let attempt = 0; attempt < 50; attempt += 1) {
    try {
      const handle = openSync(file, 'wx', 0o600);
      writeSync(handle, mine);
      closeSync(handle);
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = holderOf(home);
    if (holder && alive(holder)) return holder;
    // Left by a process that was killed.
    rmSync(file, { force: true });
  }
  throw new Error(`cannot take ${file}`);
}

/** Who has the home, dead or alive. */
export function holderOf(home: Home): RecordedProcess | undefined {
  try {
    return JSON.parse(readFileSync(home.file('lock'), 'utf8')) as RecordedProcess;
  } catch {
    return undefined;
  }
}

export function releaseHome(home: Home): void {
  if (holderOf(home)?.pid === process.pid) rmSync(home.file('lock'), { force: true });
}
