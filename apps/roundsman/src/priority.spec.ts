import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { goAhead } from './priority.ts';

const children: ChildProcess[] = [];
const sleeper = async (options: { detached?: boolean } = {}): Promise<number> => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore', ...options });
  children.push(child);
  await once(child, 'spawn');
  return child.pid!;
};
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** By a limit, by a capability or not: what the kernel says counts. */
function mayBe(pid: number, niceness: number): boolean {
  try {
    setPriority(pid, niceness);
    return true;
  } catch {
    return false;
  }
}
const groupOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/autogroup`, 'utf8').trim();
  } catch {
    return '';
  }
};

describe('what goes ahead of others', () => {
  it('is favoured where that is allowed, and left as it is where it is not', async () => {
    const pid = await sleeper({ detached: true });
    const mayRaise = mayBe(await sleeper(), -5) && mayBe(pid, 0);
    const before = getPriority(pid);
    goAhead(pid);
    expect(getPriority(pid)).toBe(mayRaise ? -5 : before);
    // With its session, where the kernel has groups of these.
    if (mayRaise && groupOf(pid) !== '') expect(groupOf(pid)).toMatch(/ nice -5$/);
  });

  it('a session that it shares is left alone', async () => {
    const pid = await sleeper();
    const before = groupOf(pid);
    goAhead(pid);
    expect(groupOf(pid)).toBe(before);
  });

  it('what somebody has chosen stays', async () => {
    const pid = await sleeper();
    const chosen = Math.max(7, getPriority(pid));
    setPriority(pid, chosen);
    goAhead(pid);
    expect(getPriority(pid)).toBe(chosen);
  });

  it('a process that has ended is no problem', async () => {
    const pid = await sleeper();
    const [child] = children;
    child!.kill('SIGKILL');
    await once(child!, 'exit');
    goAhead(pid);
  });
});
