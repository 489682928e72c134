import { accessSync, constants, existsSync, readFileSync, readdirSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem, homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { machineAddresses } from '@roundsman/node-agent';
import { findDocker, type Docker } from '../docker.ts';
import { Home } from '../home.ts';
import { findNats } from '../nats-binary.ts';
import { choosePorts, isFree } from '../ports.ts';
import { findPostgres } from '../postgres-binary.ts';
import { dataFolder, postgresAccount } from '../postgres-server.ts';
import { atLeast, onPath, tryRun, versionOf } from '../tools.ts';
import { statusOf } from './status.ts';

interface Finding {
  readonly name: string;
  /** `missing` fails the command; `note` is worth knowing. */
  readonly state: 'ok' | 'note' | 'missing';
  readonly found: string;
  readonly todo?: string;
}

/** Looks at the machine; exit code 1 when something that the product needs is missing. */
export async function doctor(options: { readonly json?: boolean; readonly docker?: string }): Promise<void> {
  const findings: Finding[] = [];
  const pods = await wantedDocker(options.docker);
  for (const check of [node, npm, nats, postgres, kubectl, () => docker(pods), () => runners(pods), natsProgram, ports, disk, memory, processor, home]) findings.push(await check());
  const missing = findings.filter(({ state }) => state === 'missing');
  process.exitCode = missing.length > 0 ? 1 : 0;
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ok: missing.length === 0, findings }, undefined, 2)}\n`);
    return;
  }
  const marks = { ok: 'ok     ', note: 'note   ', missing: 'MISSING' };
  for (const { name, state, found, todo } of findings) process.stdout.write(`${marks[state]} ${name.padEnd(16)} ${found}${todo === undefined ? '' : `\n${' '.repeat(25)}-> ${todo}`}\n`);
  process.stdout.write(missing.length === 0 ? '\nThis machine has what Roundsman needs.\n' : `\nMissing: ${missing.map(({ name }) => name).join(', ')}\n`);
}

const ok = (name: string, found: string): Finding => ({ name, state: 'ok', found });
const note = (name: string, found: string, todo: string): Finding => ({ name, state: 'note', found, todo });
const missing = (name: string, found: string, todo: string): Finding => ({ name, state: 'missing', found, todo });

const node = (): Finding => ok('Node', `${process.versions.node} (${process.execPath})`);

function npm(): Finding {
  const version = onPath('npm') && versionOf('npm');
  return version ? ok('npm', version) : note('npm', 'not on PATH', 'only needed to bring the runtime once: apt-get install npm');
}

function nats(): Finding {
  const notes: string[] = [];
  const found = findNats(notes);
  if (found) return ok('NATS server', `${found.version} from ${found.from} (${found.path})`);
  const go = onPath('go') && versionOf('go', ['version']);
  const seen = notes.length > 0 ? notes.join('; ') : 'none yet';
  if (go) return ok('NATS server', `${seen}; will be built once with Go ${go}`);
  if (onPath('docker') && tryRun('docker', ['version', '--format', '{{.Server.Version}}'], { timeoutMs: 10_000 }).ok) return ok('NATS server', `${seen}; will be taken from its image`);
  return missing('NATS server', `${seen}, and neither Go nor Docker to get one`, 'put nats-server 2.12 or later on PATH, or install Go (https://go.dev/dl)');
}

function postgres(): Finding {
  const found = findPostgres();
  if (!found) return missing('Postgres', 'none of version 15 or later', 'run pnpm install again (it brings one), or: apt-get install postgresql');
  const as = postgresAccount();
  return ok('Postgres', `${found.version} from ${found.from} (${found.folder})${as ? `, run as ${as.name} because we are root` : ''}`);
}

function kubectl(): Finding {
  const version = onPath('kubectl') && versionOf('kubectl', ['version', '--client']);
  if (!version) return note('kubectl', 'not on PATH', 'optional; https://kubernetes.io/docs/tasks/tools (curl works with the same paths)');
  return atLeast(version, [1, 28]) ? ok('kubectl', version) : note('kubectl', version, 'tested with 1.32; an old one may lack commands');
}

/** The one that `up` would take; one that was asked for and does not answer is a finding like any other. */
const wantedDocker = (wanted: string | undefined): Promise<Docker> => findDocker(wanted, undefined).catch((error: Error) => ({ missing: error.message }));

function docker(found: Docker): Finding {
  return 'socket' in found ? ok('Docker', `answers at ${found.socket}`) : note('Docker', found.missing, 'only needed to run pods (kubectl run, Deployments, ...)');
}

/** As `up` decides (runners/carrier.ts). */
async function runners(found: Docker): Promise<Finding> {
  if ('missing' in found) return note('runners', 'processes, one per node', 'with Docker they are pods: tasks then also test Services and Ingresses, and have runtimes of their own (agentSpec)');
  if (onPath('ldd') === undefined) return note('runners', 'processes, one per node: their image cannot be made without ldd', 'Debian, Ubuntu: apt-get install libc-bin');
  if ((await machineAddresses([])).length === 0) return note('runners', 'processes, one per node: pods cannot reach this machine, which has no address but loopback', 'connect it to a network (a default route)');
  return ok('runners', 'pods; their image is made from this workspace (pnpm image)');
}

function natsProgram(): Finding {
  const version = onPath('nats') && versionOf('nats');
  return version ? ok('nats', version) : note('nats', 'the command line of NATS is not on PATH', 'optional, to look at messages: https://github.com/nats-io/natscli');
}

async function ports(): Promise<Finding> {
  try {
    const { a, b, c } = await choosePorts([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    const usual = await Promise.all([4222, 5432].map(async (port) => `${port} ${(await isFree(port)) ? 'free' : 'taken'}`));
    return ok('ports', `free ones can be had on 127.0.0.1 (${a}, ${b}, ${c}); ${usual.join(', ')}, which does not matter`);
  } catch (error) {
    return missing('ports', `cannot listen on 127.0.0.1: ${(error as Error).message}`, 'the loopback interface must be up: ip link set lo up');
  }
}

function disk(): Finding {
  const here = nearestFolder(dataFolder(new Home(), postgresAccount()));
  const { bavail, bsize } = statfsSync(here);
  const gib = (bavail * bsize) / 2 ** 30;
  const found = `${gib.toFixed(1)} GiB free at ${here}`;
  return gib >= 1 ? ok('disk', found) : missing('disk', found, 'at least 1 GiB; ROUNDSMAN_HOME may be on another disk');
}

function memory(): Finding {
  const limit = cgroupValue('memory.max');
  const used = cgroupValue('memory.current');
  const availableKib = Number(/MemAvailable:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? freemem() / 1024);
  const mib = Math.min(availableKib / 1024, limit !== undefined && used !== undefined ? (limit - used) / 2 ** 20 : Infinity);
  const found = `${Math.round(mib)} MiB available`;
  return mib >= 600 ? ok('memory', found) : note('memory', found, 'an idle cluster of three nodes takes about 400 MiB');
}

/** A starved prober measures itself: looks at how late timers fire, and whether the container was throttled. */
async function processor(): Promise<Finding> {
  const before = throttledPeriods();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 500));
  delay.disable();
  const lateMs = delay.percentile(99) / 1e6 - 5;
  const throttled = throttledPeriods() - before;
  const found = `${availableParallelism()} cores; timers fire ${Math.max(0, lateMs).toFixed(1)} ms late (p99)${throttled > 0 ? `, throttled ${throttled} times in half a second` : ''}`;
  return lateMs < 20 && throttled === 0 ? ok('processor', found) : note('processor', found, 'busy or limited: reports will be marked suspect when runners starve');
}

async function home(): Promise<Finding> {
  const home = new Home();
  const parent = nearestFolder(home.path);
  try {
    accessSync(parent, constants.W_OK);
  } catch {
    return missing('home', `${parent} is not writable`, `set ROUNDSMAN_HOME to a folder that is (now ${home.path}; HOME is ${homedir()})`);
  }
  if (!existsSync(home.path)) return ok('home', `${home.path} (not made yet)`);
  if (!home.ours && readdirSync(home.path).length === 0) return ok('home', `${home.path} (empty)`);
  if (!home.ours) return note('home', `${home.path} holds something else`, 'set ROUNDSMAN_HOME to another folder');
  const { state, problems } = await statusOf(home);
  return state === 'killed' || state === 'unwell' ? note('home', `${home.path}: ${state}`, problems.join('; ')) : ok('home', `${home.path}: ${state}`);
}

function nearestFolder(path: string): string {
  return existsSync(path) ? path : nearestFolder(dirname(path));
}

/** Of our own cgroup (v2). */
function cgroupFile(name: string): string | undefined {
  try {
    const path = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    return path === undefined ? undefined : readFileSync(join('/sys/fs/cgroup', path, name), 'utf8');
  } catch {
    return undefined;
  }
}

function cgroupValue(name: string): number | undefined {
  const text = cgroupFile(name)?.trim();
  return text === undefined || text === 'max' ? undefined : Number(text);
}

const throttledPeriods = (): number => Number(/nr_throttled (\d+)/.exec(cgroupFile('cpu.stat') ?? '')?.[1] ?? 0);
