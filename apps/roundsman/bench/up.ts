import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounded, cpuTicks, median, pssMib, type Figure } from './processes.ts';

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
      roundsman('up', '--detach', '--docker', 'off');
      if (start > 0) seconds.push((performance.now() - begun) / 1000);
    }
    const { pid } = JSON.parse(roundsman('status', '--json')) as { pid: number };
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const before = cpuTicks(pid);
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000));
    const percent = cpuTicks(pid) - before; // 100 ticks a second: ticks per second are percent of a core
    return [
      bounded('roundsman up --detach, 3 nodes, until it returns', 's', median(seconds), 5),
      bounded('idle memory, all processes (PSS)', 'MiB', pssMib(pid), 400),
      bounded('idle processor time, all processes', '% of a core', percent / idleSeconds, 3),
    ];
  } finally {
    roundsman('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  }
}

if (import.meta.main) for (const figure of await run()) console.log(JSON.stringify(figure));
