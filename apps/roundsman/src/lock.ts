import { createHash, randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Home, RecordedProcess } from './home.ts';
import { alive, record } from './processes.ts';

/** Takes the home for this process. Undefined when it has it; otherwise the process that does. */
export function takeHome(home: Home): RecordedProcess | undefined {
  const file = home.file('lock');
  const temporary = `${file}.${process.pid}.${randomUUID()}`;
  writeFileSync(temporary, JSON.stringify(record('supervisor', process.pid)), { mode: 0o600, flag: 'wx' });
  try {
    return take(file, temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Links the written `mine` to `file`: whole at once, and for one process only. What a dead process left is removed by whoever
 * takes the right to remove just that text, in the same way: nobody can remove what a quicker one has put there since, as only
 * the holder of that right removes the text, and a dead process writes it no second time.
 */
function take(file: string, mine: string): RecordedProcess | undefined {
  for (;;) {
    if (linked(mine, file)) return undefined;
    const text = textOf(file);
    if (text === undefined) continue;
    const holder = holderIn(text);
    if (holder && alive(holder)) return holder;
    const right = `${file}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
    if (take(right, mine) !== undefined) {
      // Another one removes it, which takes no time.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      continue;
    }
    try {
      if (textOf(file) === text) rmSync(file);
    } finally {
      rmSync(right);
    }
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function holderIn(text: string): RecordedProcess | undefined {
  try {
    return JSON.parse(text) as RecordedProcess;
  } catch {
    return undefined;
  }
}

/** Who has the home, dead or alive. */
export function holderOf(home: Home): RecordedProcess | undefined {
  const text = textOf(home.file('lock'));
  return text === undefined ? undefined : holderIn(text);
}

export function releaseHome(home: Home): void {
  const holder = holderOf(home);
  if (holder?.pid === process.pid && alive(holder)) rmSync(home.file('lock'), { force: true });
}
