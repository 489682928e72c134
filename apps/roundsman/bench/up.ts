import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

const command = join(import.meta.dirname, '../../../scripts/roundsman.mjs');
const starts = 3;
/** Rest after the start, so that what is measured is idling. */
const settleMs = 20_000;
const idleSeconds = 30;

/** `roundsman up --detach` on a prepared machine until it returns, and what three idle virtual nodes cost, all processes together. */
export async function run(): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const roundsman = (...args: string[]): string => execFileSync(process.execPath, [command, ...args], { encoding: 'utf8', env: { ...process.env, ROUNDSMAN_HOME: home }, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const seconds: number[] = [];
    // The first start makes the database: not what a second start on a prepared machine does.
    for (let start = 0; start <= starts; start += 1) {
      if (start > 0) roundsman('down');
      const begun = performance.now();
      roundsman('up', '--detach');
      if (start > 0) seconds.push((performance.now() - begun) / 1000);
    }
    const { pid } = JSON.parse(roundsman('status', '--json')) as { pid: number };
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const before = cpuTicks(pid);
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000));
    const percent = cpuTicks(pid) - before; // 100 ticks a second: ticks per second are percent of a core
    return [
      bounded('roundsman up --detach, 3 nodes, until it returns', 's', median(seconds), 5),
      bounded('idle memory, all processes (PSS)', 'MiB', family(pid).reduce((sum, one) => sum + pssKib(one), 0) / 1024, 400),
      bounded('idle processor time, all processes', '% of a core', percent / idleSeconds, 3),
    ];
  } finally {
    roundsman('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  }
}

function bounded(name: string, unit: string, value: number, bound: number): Figure {
  const ours = Math.round(value * 100) / 100;
  return { name, unit, ours, peer: bound, peerName: 'bound', ratio: Math.round((ours / bound) * 100) / 100, goal: `< ${bound} ${unit}`, met: ours < bound };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

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
const cpuTicks = (root: number): number => family(root).reduce((sum, pid) => sum + [11, 12, 13, 14].reduce((own, field) => own + Number(stat(pid)[field] ?? 0), 0), 0);

function pssKib(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

if (import.meta.main) for (const figure of await run()) console.log(JSON.stringify(figure));
