import { readFileSync, readdirSync } from 'node:fs';
import type { TestDocker } from '@roundsman/testkit';

function stat(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** Processes and all below them. */
function family(roots: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(stat(Number(name))[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)];
  return roots.flatMap(below);
}

/** First processes of the containers of a daemon: what runs in them is below these, not below who asked for it. */
export async function containerPids(docker: TestDocker): Promise<number[]> {
  const listed = (await docker.request('GET', '/containers/json')) as { Id: string }[];
  const inspected = await Promise.all(listed.map(({ Id }) => docker.request('GET', `/containers/${Id}/json`).catch(() => undefined))) as ({ State: { Pid: number } } | undefined)[];
  return inspected.flatMap((one) => (one === undefined || one.State.Pid === 0 ? [] : [one.State.Pid]));
}

/** User and system time of all, of children that have ended too. */
export const cpuTicks = (...roots: number[]): number => family(roots).reduce((sum, pid) => sum + [11, 12, 13, 14].reduce((own, field) => own + Number(stat(pid)[field] ?? 0), 0), 0);

/** Memory of processes and all below them, with shared pages counted once: MiB. */
export const pssMib = (...roots: number[]): number => family(roots).reduce((sum, pid) => sum + pssKib(pid), 0) / 1024;

function pssKib(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
