import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bounded, compared, dockerUnavailable, median, printFigures, startDocker, testImages, type Figure, type TestDocker } from '@roundsman/testkit';
import { containerPids, cpuTicks, pssMib } from './processes.ts';

const command = join(import.meta.dirname, '../../../scripts/roundsman.mjs');
const starts = 3;
/** Rest after the start, so that what is measured is idling. */
const settleMs = 20_000;
const idleSeconds = 30;

/**
 * `roundsman up --detach` on a prepared machine until it returns, and what three idle virtual nodes cost, all processes together: with runners
 * that are processes, and with Docker, where they are pods and so are told apart.
 */
export async function run(): Promise<Figure[]> {
  const reason = await dockerUnavailable();
  if (reason !== undefined) throw new Error(`no Docker for this benchmark: ${reason}`);
  const docker = await startDocker();
  try {
    await testImages(docker);
    return [...(await measured('', undefined, 3)), ...(await measured(' with Docker', docker, 5))];
  } finally {
    await docker.stop();
  }
}

async function measured(how: string, docker: TestDocker | undefined, idlePercentBound: number): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const roundsman = (...args: string[]): string => execFileSync(process.execPath, [command, ...args], { encoding: 'utf8', env: { ...process.env, ROUNDSMAN_HOME: home }, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const seconds: number[] = [];
    // The first start makes the database and loads images: not what a second start on a prepared machine does.
    for (let start = 0; start <= starts; start += 1) {
      if (start > 0) roundsman('down');
      const begun = performance.now();
      roundsman('up', '--detach', '--docker', docker?.socket ?? 'off');
      if (start > 0) seconds.push((performance.now() - begun) / 1000);
    }
    const { pid } = JSON.parse(roundsman('status', '--json')) as { pid: number };
    await sleep(settleMs);
    // The daemon itself is the machine's, not ours; what runs in pods is told by itself, and is not part of what has a bound.
    const pods = docker === undefined ? [] : await containerPids(docker);
    const [ownBefore, podsBefore] = [cpuTicks(pid), cpuTicks(...pods)];
    await sleep(idleSeconds * 1000);
    // 100 ticks a second: ticks per second are percent of a core.
    const [ownPercent, podsPercent] = [(cpuTicks(pid) - ownBefore) / idleSeconds, (cpuTicks(...pods) - podsBefore) / idleSeconds];
    const [ownMib, podsMib] = [pssMib(pid), pssMib(...pods)];
    const all = `${how}, all processes${docker === undefined ? '' : ' but those in pods'}`;
    const told = (what: string, unit: string, inPods: number, own: number): Figure => compared(`${what}${how}, three runners in pods`, unit, inPods, 'all other processes', own, 'none', () => true);
    return [
      bounded(`roundsman up --detach${how}, 3 nodes, until it returns`, 's', median(seconds), '<', 5),
      bounded(`idle memory${all} (PSS)`, 'MiB', ownMib, '<', 400),
      bounded(`idle processor time${all}`, '% of a core', ownPercent, '<', idlePercentBound),
      ...(docker === undefined ? [] : [told('idle memory (PSS)', 'MiB', podsMib, ownMib), told('idle processor time', '% of a core', podsPercent, ownPercent)]),
    ];
  } finally {
    roundsman('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  }
}

if (import.meta.main) await printFigures(run());
