import { randomBytes } from 'node:crypto';
import { chmod, chown, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { systemServices } from '@roundsman/api';
import type { NetworkState, NetworkStateChange } from '@roundsman/network';
import type { Logger } from 'pino';
import { hostOfDns, hostsOfIngress, ingressAddresses, isIngressService } from '../zone/host-records.ts';
import { withBlock, type HostLine } from './hosts-block.ts';

/** Changes that come together are written together. */
const gatherMs = 50;
const writeAgainMs = 10_000;
/** Others rewrite the file, too: another cluster at the same moment, somebody who edits. */
const lookAgainMs = 30_000;

export interface MachineHostsOptions {
  readonly file: string;
  readonly cluster: string;
  readonly state: NetworkState;
  readonly log: Pick<Logger, 'error' | 'info'>;
  readonly lookAgainMs?: number;
}

/** Tells the machine's own programs where the hosts of DNS objects and Ingresses are: in a block of its hosts file. It stays there while the agent is away. */
export class MachineHosts {
  readonly #options: MachineHostsOptions;
  #unfollow: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(options: MachineHostsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unfollow = this.#options.state.onChange((change) => {
      if (concerns(change)) this.#soon(gatherMs);
    });
    this.#soon(0);
    this.#looking = setInterval(() => this.#soon(0), this.#options.lookAgainMs ?? lookAgainMs).unref();
  }

  async stop(): Promise<void> {
    this.#unfollow();
    clearTimeout(this.#timer);
    clearInterval(this.#looking);
    this.#timer = undefined;
    await this.#writing;
  }

  #soon(afterMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    }, afterMs).unref();
  }

  async #write(): Promise<void> {
    const { file, cluster, state, log } = this.#options;
    // What is not known yet must not be taken away.
    if (state.network === undefined) return;
    try {
      await rewrite(file, (text) => withBlock(text, cluster, hostLines(state)));
      this.#problem = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem) log.error({ err: error, file }, 'the hosts of the cluster cannot be written for this machine; trying again');
      this.#problem = message;
      this.#soon(writeAgainMs);
    }
  }
}

/** Takes a cluster out of a hosts file: it is gone for good. Also when it is not in it, or there is no such file. */
export const removeFromHosts = (file: string, cluster: string): Promise<void> => rewrite(file, (text) => withBlock(text, cluster, []));

function hostLines(state: NetworkState): HostLine[] {
  const addresses = ingressAddresses(state.service(systemServices.namespace, systemServices.ingress));
  const classes = state.ingressClasses();
  const below = `.${(state.network?.domain ?? '').toLowerCase()}`;
  // A hosts file knows no wildcards; names of Services are not for hosts to give away.
  const hosts = [...state.dnses().flatMap(hostOfDns), ...state.ingresses().flatMap((ingress) => hostsOfIngress(ingress, classes))].filter((host) => !host.startsWith('*') && !`.${host}`.endsWith(below));
  return hosts.flatMap((host) => addresses.map((address) => ({ address, host })));
}

const concerns = (change: NetworkStateChange): boolean =>
  change.resource === 'network' ||
  change.resource === 'dnses.roundsman.io' ||
  change.resource === 'ingresses.networking.k8s.io' ||
  change.resource === 'ingressclasses.networking.k8s.io' ||
  (change.resource === 'services' && isIngressService(change.object));

/** At once for whoever reads it: there is never half a file. Owner and mode stay. */
async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  const path = await realpath(file).catch(() => file);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const changed = change(text);
  if (changed === text) return;
  const { mode, uid, gid } = await stat(path).catch(() => ({ mode: 0o644, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }));
  const beside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(beside, changed, { flag: 'wx', flush: true });
    await chmod(beside, mode & 0o7777);
    await chown(beside, uid, gid);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    // In a container the file is a mount, which cannot be replaced.
    if (!['EBUSY', 'EXDEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await writeFile(path, changed);
  }
}
