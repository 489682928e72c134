import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounded, median, printFigures, type Figure } from '@roundsman/testkit';

const seconds = 3;
const rounds = 3;
const least = 10_000;

const has = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
/** User and system time of a process so far, seconds. */
const cpuSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

/** Answers about 500 Services over UDP: the server on core 1, dnsperf on core 0. Counted per second of processor time, so that others on the machine do not count. */
export async function run(): Promise<Figure[]> {
  for (const need of ['dnsperf', 'taskset']) if (!has(need)) throw new Error(`the DNS benchmark needs ${need}; on Debian: apt-get install dnsperf util-linux`);
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  const names = join(folder, 'names');
  writeFileSync(names, Array.from({ length: 500 }, (_, index) => `web-${index}.default.svc.cluster.local A\nweb-${index}.default.svc.cluster.local AAAA\nnone-${index}.default.svc.cluster.local A\n`).join(''));
  const server = spawn('taskset', ['-c', '1', process.execPath, '--disable-warning=ExperimentalWarning', ...process.execArgv, join(import.meta.dirname, 'dns-server.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const port = /port (\d+)/.exec(line.toString())?.[1] ?? '';
    const rates: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const before = cpuSeconds(server.pid!);
      const { stdout, stderr } = spawnSync('taskset', ['-c', '0', 'dnsperf', '-s', '127.0.0.1', '-p', port, '-d', names, '-q', '64', '-c', '4', '-T', '1', '-l', String(seconds)], { encoding: 'utf8' });
      const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1]);
      const lost = Number(/Queries lost:\s+(\d+)/.exec(stdout)?.[1]);
      if (!(completed > 0) || lost > 0) throw new Error(`dnsperf: ${completed} answered, ${lost} lost: ${stderr}`);
      // The first warms up.
      if (round > 0) rates.push(completed / (cpuSeconds(server.pid!) - before));
    }
    return [bounded('DNS of a node, 500 Services', 'answers/s of one core', median(rates), '>=', least)];
  } finally {
    server.stdin.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await printFigures(run());
