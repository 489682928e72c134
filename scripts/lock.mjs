// A lock file among processes of one machine. Plain Node 18 syntax, no dependencies.
import { createHash, randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** The start time (field 22 of /proc/<pid>/stat) and the boot: a pid alone may be another's by now. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)}`;
  } catch {
    return undefined;
  }
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Takes the lock for this process; undefined when it has it, else the pid of the living process that does. The file is linked: whole
 * at once, for one process only. What a dead process left is removed by whoever takes the right to remove just that text, in the same
 * way, so nobody can remove what a quicker one has put there since: a dead process writes its text no second time.
 */
export function takeLock(file) {
  const temporary = `${file}.${process.pid}.${randomUUID()}`;
  writeFileSync(temporary, `${process.pid} ${startOf(process.pid)}`, { flag: 'wx' });
  try {
    return take(file, temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function take(file, mine) {
  for (;;) {
    try {
      linkSync(mine, file);
      return undefined;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const text = textOf(file);
    if (text === undefined) continue;
    const [pid, start] = text.split(' ');
    if (start !== undefined && startOf(pid) === start) return pid;
    const right = `${file}.${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
    if (take(right, mine) !== undefined) {
      // Another one removes it, which takes no time.
      wait(1);
      continue;
    }
    try {
      if (textOf(file) === text) rmSync(file);
    } finally {
      rmSync(right);
    }
  }
}

export const releaseLock = (file) => rmSync(file, { force: true });
