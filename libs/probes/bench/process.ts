import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rows } from './figure.ts';

const here = import.meta.dirname;

/**
 * A row counts when the generator or the server used at least this share of its core: then one of them was the limit.
 * Otherwise other processes starved them.
 */
const leastShare = 0.9;
/** The same for a server, measured over a little more than the load itself. */
const saturated = 0.85;

export interface Peer {
  port: number;
  child: ChildProcess;
  stop(): void;
}

let binary: string | undefined;

/** Builds the Go servers once per process; throws with the compiler's words. */
function peerBinary(): string {
  if (binary !== undefined) return binary;
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'peer');
  const built = spawnSync('go', ['build', '-o', file, '.'], { cwd: join(here, 'peer'), encoding: 'utf8', env: { ...process.env, GOFLAGS: '-buildvcs=false' } });
  if (built.status !== 0) throw new Error(`the benchmark's servers could not be built with go: ${built.error?.message ?? built.stderr}`);
  binary = file;
  return file;
}

/** Starts a server of bench/peer on one core. */
export async function startPeer(kind: 'raw' | 'http' | 'https' | 'dns', core = 1): Promise<Peer> {
  const child = spawn('taskset', ['-c', String(core), peerBinary(), kind], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, GOMAXPROCS: '1' } });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  const port = Number(/^port (\d+)/.exec(line.toString())?.[1]);
  if (!(port > 0)) throw new Error(`the benchmark's ${kind} server said "${line.toString()}" instead of its port`);
  return { port, child, stop: () => void child.kill() };
}

export interface Load {
  stdout: string;
  /** CPU seconds of the generator divided by its wall time. */
  share: number;
}

/** Runs a load generator on core 0 and tells how much of that core it got. */
export async function load(command: string, args: string[], env: Record<string, string> = {}): Promise<Load> {
  const child = spawn('bash', ['-c', 'TIMEFORMAT="cpu %U %S %R"; time taskset -c 0 "$@"', 'bash', command, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr || stdout}`);
  const [, user, system, wall] = /cpu ([\d.]+) ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  return { stdout, share: (Number(user) + Number(system)) / Number(wall) };
}

export interface Row {
  perSecond: number;
  /** CPU time of the generator divided by its wall time. */
  share: number;
}

/** Runs our engine in a process of its own; see client.ts. */
export async function ours(job: unknown): Promise<Row & { failed: number }> {
  const { stdout } = await load(process.execPath, [join(here, 'client.ts'), JSON.stringify(job)]);
  return JSON.parse(stdout) as Row & { failed: number };
}

/** The rate that a tool prints, by the pattern of its line. */
export async function tool(pattern: RegExp, command: string, args: string[]): Promise<Row> {
  const { stdout, share } = await load(command, args, { GOMAXPROCS: '1' });
  const perSecond = Number(pattern.exec(stdout)?.[1]);
  if (!(perSecond > 0)) throw new Error(`no rate in the output of ${command}: ${stdout}`);
  return { perSecond, share };
}

export function installed(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}

/** CPU seconds a process used so far. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Runs all contestants in turn until each has `rows` rows that count, `rows + 3` turns at most. */
export async function interleaved(server: Peer, contestants: Record<string, () => Promise<Row>>, rows = 3): Promise<Record<string, Rows>> {
  const kept: Record<string, Rows> = Object.fromEntries(Object.keys(contestants).map((name) => [name, { fair: [], perCpuSecond: [] }]));
  for (let turn = 0; turn < rows + 3 && Object.values(kept).some((list) => list.fair.length < rows); turn++) {
    for (const [name, run] of Object.entries(contestants)) {
      const before = cpuSeconds(server.child.pid!);
      const started = performance.now();
      const { perSecond, share } = await run();
      // Of the whole call, which is a little longer than the load: a saturated server shows a little less than 1.
      const serverShare = ((cpuSeconds(server.child.pid!) - before) * 1000) / (performance.now() - started);
      kept[name]!.perCpuSecond.push(perSecond / share);
      if (share >= leastShare || serverShare >= saturated) kept[name]!.fair.push(perSecond);
      else console.error(`${name}: ${Math.round(perSecond)}/s dropped, it got ${Math.round(share * 100)} %, the server ${Math.round(serverShare * 100)} % of a core`);
    }
  }
  return kept;
}
