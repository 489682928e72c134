// Services: what forwarding costs beside direct traffic, how long it takes to program many, and until a change of endpoints is effective.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NetworkState } from '@roundsman/network';
import { bounded, median, printFigures, type Figure } from '@roundsman/testkit';
import { ServiceProxy } from '../src/services/service-proxy.ts';
import { emptyState, endpoint, service, slice, slicesResource } from '../src/services/testing/objects.ts';
import { PacketLab } from '../src/services/testing/packet-lab.ts';

const seconds = 1;
const rows = 9;
const services = 500;
const endpoints = 5;
const quiet = { info: () => undefined, warn: () => undefined } as never;

class Bench {
  readonly lab: PacketLab;
  readonly mode: 'nftables' | 'userspace';
  readonly state: NetworkState = emptyState();
  readonly folder = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
  readonly proxy: ServiceProxy;
  #told: () => void = () => undefined;

  constructor(lab: PacketLab, mode: 'nftables' | 'userspace') {
    this.lab = lab;
    this.mode = mode;
    this.proxy = new ServiceProxy({ cluster: 'bench', mode, state: this.state, folder: this.folder, name: 'bench', log: quiet, namespace: () => ({ path: lab.path }), localNodes: () => new Set(['here']), onTable: () => this.#told() });
    this.proxy.start();
  }

  /** Milliseconds until what is told by `change` is in effect. */
  async after(change: () => void): Promise<number> {
    const startedAt = performance.now();
    change();
    await new Promise<void>((resolve) => (this.#told = resolve));
    return performance.now() - startedAt;
  }

  async end(): Promise<void> {
    await this.proxy.remove();
    rmSync(this.folder, { recursive: true });
  }

  requests(address: string): number {
    const printed = execFileSync('nsenter', [`--net=${this.lab.path}-p1`, '--', 'wrk', '-t1', '-c32', `-d${seconds}s`, `http://${address}/`], { encoding: 'utf8' });
    if (/Non-2xx|Socket errors/.test(printed)) throw new Error(`requests failed:\n${printed}`);
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]);
  }

  /** Direct and through the ClusterIP, in turns. */
  async cost(goal: number): Promise<Figure> {
    await this.after(() => {
      this.state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.200.1', ports: [{ port: 80, protocol: 'TCP' }] }));
      this.state.apply('ADDED', slicesResource, slice('web', [endpoint('10.244.0.2', 'here')], { ports: [{ name: '', protocol: 'TCP', port: 9_000 }] }));
    });
    this.requests('10.244.0.2:9000');
    const through = (): number => this.requests('10.96.200.1:80');
    const direct = (): number => this.requests('10.244.0.2:9000');
    const pairs = Array.from({ length: rows }, (_, row) => {
      if (row % 2 === 0) return [through(), direct()] as const;
      const before = direct();
      return [through(), before] as const;
    });
    const [ours, peer] = [median(pairs.map(([through]) => through)), median(pairs.map(([, direct]) => direct))];
    const ratio = median(pairs.map(([through, direct]) => through / direct));
    return { name: `requests to a ClusterIP, ${this.mode}`, unit: '/s', ours, peer, peerName: 'the pod itself', ratio, goal: `ratio >= ${goal}`, met: ratio >= goal };
  }

  async programming(): Promise<Figure[]> {
    const many = await this.after(() => {
      for (let index = 0; index < services; index++) {
        this.state.apply('ADDED', 'services', service(`s${index}`, { clusterIP: `10.96.${index >> 8}.${index & 255}`, ports: [{ port: 80, protocol: 'TCP' }] }));
        this.state.apply('ADDED', slicesResource, slice(`s${index}`, Array.from({ length: endpoints }, (_, at) => endpoint(`10.244.${at}.${(index % 250) + 1}`, 'here'))));
      }
    });
    const changes: number[] = [];
    for (let index = 0; index < 9; index++) changes.push(await this.after(() => this.state.apply('MODIFIED', slicesResource, slice('s7', [endpoint(`10.244.9.${index + 1}`, 'here')]))));
    return [
      bounded(`${services} Services with ${endpoints} endpoints programmed, ${this.mode}`, 'ms', many, '<', 5_000),
      bounded(`a change of endpoints effective, among ${services} Services, ${this.mode}`, 'ms', median(changes), '<', 1_000),
    ];
  }
}

export async function run(): Promise<Figure[]> {
  const lab = await PacketLab.start();
  let server: ChildProcess | undefined;
  try {
    server = spawn('nsenter', [`--net=${lab.path}-p2`, '--', process.execPath, fileURLToPath(new URL('./services-server.ts', import.meta.url))], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(server.stdout as NodeJS.ReadableStream, 'data');
    const figures: Figure[] = [];
    for (const [mode, goal] of [['nftables', 0.95], ['userspace', 0.5]] as const) {
      const bench = new Bench(lab, mode);
      try {
        figures.push(...(await bench.programming()), await bench.cost(goal));
      } finally {
        await bench.end();
      }
    }
    return figures;
  } finally {
    server?.kill('SIGKILL');
    lab.stop();
  }
}

if (import.meta.main) await printFigures(run());
