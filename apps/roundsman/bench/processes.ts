import { readFileSync, readdirSync } from 'node:fs';

export interface Figure {
  name: string;
  unit: string;
  ours: number;
  peer: number;
  peerName: string;
  ratio: number;
  goal: string;
  met: boolean;
}

/** A figure that must stay below a bound. */
export function bounded(name: string, unit: string, value: number, bound: number): Figure {
  const ours = Math.round(value * 100) / 100;
  return { name, unit, ours, peer: bound, peerName: 'bound', ratio: Math.round((ours / bound) * 100) / 100, goal: `< ${bound} ${unit}`, met: ours < bound };
}

export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

function stat(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** A process and all below it. */
function family(root: number): number[] {
  const parents = readdirSync('/proc').flatMap((name): [number, number][] => (/^\d+$/.test(name) ? [[Number(name), Number(stat(Number(name))[1])]] : []));
  const below = (pid: number): number[] => [pid, ...parents.filter(([, parent]) => parent === pid).flatMap(([child]) => below(child))];
  return below(root);
}

/** User and system time of all, of children that have ended too. */
export const cpuTicks = (root: number): number => family(root).reduce((sum, pid) => sum + [11, 12, 13, 14].reduce((own, field) => own + Number(stat(pid)[field] ?? 0), 0), 0);

/** Memory of a process and all below it, with shared pages counted once: MiB. */
export const pssMib = (root: number): number => family(root).reduce((sum, pid) => sum + pssKib(pid), 0) / 1024;

function pssKib(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
