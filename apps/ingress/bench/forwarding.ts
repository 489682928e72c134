import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bounded, compared, eventually, freePort, median, printFigures, type Figure } from '@roundsman/testkit';
import { ingressEntry } from '../src/index.ts';
import { ingress, resources, rule, service, slice } from '../src/testing/objects.ts';
import { ask, node, ToldNetwork } from '../src/testing/rig.ts';

const seconds = 3;
const rows = 3;
const run1 = promisify(execFile);

interface Load {
  readonly perSecond: number;
  readonly p50ms: number;
}

/** Requests to a host by wrk, at full speed over some connections. */
async function wrk(port: number, connections: number): Promise<Load> {
  const { stdout } = await run1('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-H', 'Host: shop.example', `http://127.0.0.1:${port}/`]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`requests failed:\n${stdout}`);
  const [, value = '0', unit = 'ms'] = /50%\s+([\d.]+)(us|ms|s)/.exec(stdout) ?? [];
  return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]), p50ms: Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's'] };
}

/** Processor time of a process so far, seconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}


/** Through the proxy and direct, in turns, to one server that is a process of its own. */
export async function run(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-ingress-bench-'));
  const told = await ToldNetwork.start();
  const children: ChildProcess[] = [];
  try {
    const backend = spawn(process.execPath, [fileURLToPath(new URL('backend.ts', import.meta.url))], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(backend);
    const direct = Number(await new Promise<string>((resolve) => backend.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))));
    told.put(resources.service, service('web'));
    told.put(resources.slice, slice('web', ['127.0.0.1'], direct));
    // Among many others, as in a cluster that is used.
    for (let index = 0; index < 200; index += 1) told.put(resources.ingress, ingress(`other-${index}`, { rules: [rule(`other-${index}.example`, { '/': 'web:80', '/a/b': 'web:80' })] }));
    told.put(resources.ingress, ingress('shop', { rules: [rule('shop.example', { '/': 'web:80', '/cart': 'web:80' })] }));
    writeFileSync(join(folder, 'seed'), told.nats.seed(`ingress-${node}`), { mode: 0o600 });
    const port = await freePort();
    const proxy = spawn(process.execPath, ['--max-semi-space-size=4', '--v8-pool-size=1', ingressEntry], {
      stdio: 'inherit',
      env: { ROUNDSMAN_INGRESS_NODE: node, ROUNDSMAN_INGRESS_NATS_URL: told.nats.url, ROUNDSMAN_INGRESS_NATS_SEED_FILE: join(folder, 'seed'), ROUNDSMAN_INGRESS_BIND: '127.0.0.1', ROUNDSMAN_INGRESS_HTTP_PORT: String(port), ROUNDSMAN_INGRESS_LOG_LEVEL: 'warn' },
    });
    children.push(proxy);
    await eventually(async () => (await ask(port, 'shop.example', '/')).status === 200, { within: 15_000 });
    await wrk(port, 64);
    const through: (Load & { perCpu: number })[] = [];
    const straight: Load[] = [];
    const calm: { through: number; straight: number }[] = [];
    for (let row = 0; row < rows; row += 1) {
      straight.push(await wrk(direct, 64));
      const before = cpuOf(proxy.pid!);
      const load = await wrk(port, 64);
      through.push({ ...load, perCpu: (load.perSecond * seconds) / (cpuOf(proxy.pid!) - before) });
      calm.push({ straight: (await wrk(direct, 1)).p50ms, through: (await wrk(port, 1)).p50ms });
    }
    const [ours, peer] = [median(through.map(({ perSecond }) => perSecond)), median(straight.map(({ perSecond }) => perSecond))];
    const perCpu = median(through.map((one) => one.perCpu));
    const added = median(calm.map((one) => one.through - one.straight));
    return [
      compared('requests through the ingress proxy, 64 connections', 'requests/s', ours, 'direct', peer, 'ratio >= 0.1', (own, direct) => own / direct >= 0.1),
      bounded('requests per second of the proxy’s processor time', 'requests/s', perCpu, '>=', 4_000),
      bounded('what the proxy adds to a request, median, one at a time', 'ms', added, '<=', 1),
    ];
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await told.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await printFigures(run());
