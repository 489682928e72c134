import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, isIPv6, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ContainerRuntime } from '@roundsman/containers';
import type { Logger } from 'pino';
import type { NodeCondition } from '../machine.ts';
import type { Settings } from '../settings.ts';
import { KeptProcess, type Kept } from './kept-process.ts';

export interface NodeIngressOptions {
  readonly config: Pick<Settings, 'node' | 'dataDir' | 'natsUrl' | 'natsCaFile' | 'ingressEntry' | 'ingressFlags' | 'ingressSeedFile' | 'ingressHttpPort' | 'ingressHttpsPort' | 'ingressSettings'>;
  readonly runtime: ContainerRuntime;
  /** Of the machine, by which pods and other machines reach it; none of them is loopback. */
  readonly addresses: readonly string[];
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

interface Ports {
  readonly http: number;
  readonly https: number;
}

const id = 'ingress';
const loopback = '127.0.0.1';
const checkEveryMs = 1_000;

/** Keeps the ingress proxy of this node's machine. */
export class NodeIngress {
  readonly #options: NodeIngressOptions;
  #ports: Ports | undefined;
  #process: KeptProcess | undefined;
  #listens = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NodeIngressOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { runtime, log } = this.#options;
    this.#ports = await this.#choosePorts();
    this.#process = new KeptProcess(this.#kept(this.#ports), runtime, log);
    await this.#process.start();
    await this.#check();
    this.#timer = setInterval(() => void this.#check(), checkEveryMs).unref();
  }

  /** As KeptProcess. */
  async stop(ends: boolean): Promise<void> {
    clearInterval(this.#timer);
    await this.#process?.stop(ends);
  }

  problem(): string | undefined {
    const problem = this.#process === undefined ? 'the ingress proxy was not started yet' : this.#process.problem();
    return problem ?? (this.#listens ? undefined : `the ingress proxy runs, but does not listen at port ${this.#ports?.http}: its log says why`);
  }

  /** `http=10.0.0.1:10080,https=10.0.0.1:10443`, for each address of the machine; undefined while nobody answers there. */
  get endpoint(): string | undefined {
    if (this.#ports === undefined || this.problem() !== undefined) return undefined;
    const { http, https } = this.#ports;
    const { addresses } = this.#options;
    const texts = addresses.map((address) => (isIPv6(address) ? `[${address}]` : address)).flatMap((address) => [`http=${address}:${http}`, `https=${address}:${https}`]);
    return texts.length === 0 ? undefined : texts.join(',');
  }

  condition(): NodeCondition | undefined {
    const condition = this.#process?.condition();
    const problem = this.problem();
    return condition === undefined || condition.status === 'False' || problem === undefined ? condition : { ...condition, status: 'False', reason: 'IngressNotListening', message: problem };
  }

  /** A process that runs may still be waiting for the control plane, or hang. */
  async #check(): Promise<void> {
    this.#listens = this.#process?.problem() === undefined && (await answers(this.#ports?.http ?? 0));
  }

  /** Those that are set, else the same as the last time, else free ones. An ingress proxy that still runs has its own. */
  async #choosePorts(): Promise<Ports> {
    const { config, runtime } = this.#options;
    const file = join(config.dataDir, 'ingress-ports.json');
    const last = await readFile(file, 'utf8').then((text) => JSON.parse(text) as Partial<Ports>).catch((): Partial<Ports> => ({}));
    const runs = (await runtime.inspect(id))?.state === 'running';
    const choose = async (set: number | undefined, before: number | undefined): Promise<number> => set ?? (before !== undefined && (runs || (await isFree(before))) ? before : freePort());
    const ports = { http: await choose(config.ingressHttpPort, last.http), https: await choose(config.ingressHttpsPort, last.https) };
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify(ports));
    return ports;
  }

  #kept({ http, https }: Ports): Kept {
    const { config, addresses } = this.#options;
    const { node, natsUrl, natsCaFile, ingressEntry, ingressFlags, ingressSeedFile, ingressSettings } = config;
    return {
      spec: {
        id,
        labels: { 'roundsman.io/node': node },
        command: [process.execPath, ...ingressFlags, ingressEntry],
        env: {
          ...Object.fromEntries(Object.entries(ingressSettings).map(([key, value]) => [`ROUNDSMAN_INGRESS_${key}`, value])),
          ROUNDSMAN_INGRESS_NODE: node,
          ROUNDSMAN_INGRESS_NATS_URL: natsUrl,
          ...(ingressSeedFile === undefined ? {} : { ROUNDSMAN_INGRESS_NATS_SEED_FILE: ingressSeedFile }),
          ...(natsCaFile === undefined ? {} : { ROUNDSMAN_INGRESS_NATS_CA_FILE: natsCaFile }),
          ROUNDSMAN_INGRESS_BIND: [loopback, ...addresses].join(','),
          ROUNDSMAN_INGRESS_HTTP_PORT: String(http),
          ROUNDSMAN_INGRESS_HTTPS_PORT: String(https),
        },
        restart: { when: 'always' },
      },
      name: `ingress-${node}`,
      what: 'the ingress proxy',
      condition: { type: 'IngressRunning', running: 'IngressIsRunning', ended: 'IngressEnded', message: `requests are let in at ports ${http} (HTTP) and ${https} (HTTPS)` },
    };
  }
}

/** Whether somebody takes connections at this port of the machine. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: loopback, port, timeout: checkEveryMs });
    const over = (ok: boolean): void => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('connect', () => over(true)).once('error', () => over(false)).once('timeout', () => over(false));
  });
}

/** Listens for a moment: the port it got, or undefined when somebody has it. */
function probe(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(undefined) : reject(error)));
    server.listen({ port, exclusive: true }, () => {
      const { port: got } = server.address() as AddressInfo;
      server.close(() => resolve(got));
    });
  });
}

const isFree = async (port: number): Promise<boolean> => (await probe(port)) !== undefined;

async function freePort(): Promise<number> {
  for (;;) {
    const port = await probe(0);
    if (port !== undefined) return port;
  }
}
