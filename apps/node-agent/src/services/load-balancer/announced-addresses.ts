import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { commandIn, environment, type NetworkNamespace } from '../network-namespace.ts';

const run = promisify(execFile);

/** So long after its last renewal the kernel takes an address away: another machine answers for it when this one's agent is not heard any more. */
const lifetimeSeconds = 180;

interface Address {
  readonly local: string;
  readonly label?: string;
  readonly prefixlen: number;
}

/**
 * Addresses of load balancers that this machine has on its loopback device, so that it answers ARP and neighbour solicitations for them. They are told from others by their
 * label, and those of IPv6, which has none, by the cluster's pool; so an agent that starts knows what one before it has left.
 */
export class AnnouncedAddresses {
  readonly #namespace: NetworkNamespace;
  readonly #label: string;
  readonly #log: Pick<Logger, 'warn'>;
  #last: string | undefined;
  #problem: string | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(cluster: string, namespace: NetworkNamespace, log: Pick<Logger, 'warn'>) {
    this.#namespace = namespace;
    this.#label = labelOf(cluster);
    this.#log = log;
  }

  /** These and no others; `inPool` tells addresses of the cluster's own pool. Never rejects: an address that cannot be had is told in the log, and tried again with the next call. `renew`: also when nothing has changed. */
  have(addresses: readonly string[], inPool: (address: string) => boolean, renew = false): Promise<void> {
    const wanted = [...new Set(addresses)].sort();
    if (wanted.join() === this.#last && (!renew || wanted.length === 0)) return this.#working;
    this.#last = wanted.join();
    this.#working = this.#working
      .then(() => this.#change(wanted, inPool))
      .then(() => (this.#problem = undefined))
      .catch((error: Error) => {
        this.#last = undefined;
        // Tried often, told once.
        if (this.#problem !== error.message) this.#log.warn({ err: error }, 'addresses of load balancers are not announced from this machine');
        this.#problem = error.message;
      });
    return this.#working;
  }

  idle(): Promise<void> {
    return this.#working;
  }

  async #change(wanted: readonly string[], inPool: (address: string) => boolean): Promise<void> {
    const there = (await addressesOn(this.#namespace)).filter(({ local, label, prefixlen }) => label === this.#label || (local?.includes(':') && prefixlen === 128 && inPool(local))).map(({ local }) => local);
    for (const address of there) if (!wanted.includes(address)) await this.#run('ip', ['address', 'del', hostRange(address), 'dev', 'lo']);
    for (const address of wanted) {
      await this.#run('ip', ['address', 'replace', hostRange(address), 'dev', 'lo', 'valid_lft', String(lifetimeSeconds), 'preferred_lft', String(lifetimeSeconds), ...(address.includes(':') ? ['nodad'] : ['label', this.#label])]);
      if (!there.includes(address)) await this.#announce(address);
    }
  }

  /** Neighbours that knew it elsewhere hear of it at once where the machine has arping; without it when their entry has gone stale (half a minute). */
  async #announce(address: string): Promise<void> {
    if (address.includes(':')) return;
    const routes = JSON.parse(await this.#run('ip', ['-j', '-4', 'route', 'show', 'default'])) as readonly { dev?: string }[];
    for (const device of new Set(routes.flatMap(({ dev }) => dev ?? []))) await this.#run('arping', ['-U', '-c', '1', '-w', '1', '-I', device, address]).catch(() => undefined);
  }

  #run(program: string, args: readonly string[]): Promise<string> {
    return runIn(this.#namespace, program, args);
  }
}

/** All of the cluster's, when it is gone for good. (Those of IPv6 bear no label, and end by themselves within three minutes.) */
export async function removeAnnounced(cluster: string, namespace: NetworkNamespace): Promise<void> {
  const label = labelOf(cluster);
  for (const { local, label: of } of await addressesOn(namespace)) if (of === label) await runIn(namespace, 'ip', ['address', 'del', hostRange(local), 'dev', 'lo']);
}

const labelOf = (cluster: string): string => `lo:rm${createHash('sha256').update(cluster).digest('hex').slice(0, 8)}`;

async function addressesOn(namespace: NetworkNamespace): Promise<readonly Address[]> {
  const listed = JSON.parse(await runIn(namespace, 'ip', ['-j', 'address', 'show', 'dev', 'lo'])) as { readonly addr_info?: readonly Address[] }[];
  return listed.flatMap(({ addr_info = [] }) => addr_info);
}

async function runIn(namespace: NetworkNamespace, program: string, args: readonly string[]): Promise<string> {
  const [command, all] = commandIn(namespace, program, args);
  const { stdout } = await run(command, [...all], { env: environment() });
  return stdout;
}

const hostRange = (address: string): string => `${address}/${address.includes(':') ? 128 : 32}`;
