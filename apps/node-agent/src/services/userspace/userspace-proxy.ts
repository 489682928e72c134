import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { Forwarder } from '../forwarder.ts';
import type { ForwardingTable } from '../forwarding/table.ts';
import type { PublishedPort } from '../host-ports.ts';
import { commandIn, identityOf, type NetworkNamespace } from '../network-namespace.ts';
import { ask, NoAnswerYet, protocol, type Report } from './control.ts';
import { commandFor, makeLocal, unmakeLocal } from './local-addresses.ts';
import type { Untaken } from './table-server.ts';

/** Only what hangs takes so long: a machine that is busy, or just starting, may need half a minute to load a program. */
const startWithinMs = 60_000;
const program = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url));

export interface UserspaceOptions {
  readonly namespace: NetworkNamespace;
  /** Of the agent: its control socket and its log lie there, `<name>.sock` and `<name>.log`. */
  readonly folder: string;
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** The agent's side of the forwarder in user space: finds it or starts it, tells it what to serve. */
export class UserspaceProxy implements Forwarder {
  readonly #options: UserspaceOptions;
  readonly #socket: string;
  #told: { readonly table: ForwardingTable; readonly hostPorts: readonly PublishedPort[] } | undefined;
  readonly #madeLocal = new Set<string>();
  /** Those that it may not make local: tried again, told once. */
  readonly #refused = new Set<string>();

  constructor(options: UserspaceOptions) {
    this.#options = options;
    this.#socket = socketIn(options.folder, options.name);
  }

  async apply(table: ForwardingTable, hostPorts: readonly PublishedPort[]): Promise<readonly string[]> {
    await this.#ensure();
    await this.#makeLocal(table.clusterIpCidrs);
    this.#told = { table, hostPorts };
    const { untaken } = await ask(this.#socket, { do: 'serve', table, hostPorts, madeLocal: [...this.#madeLocal] });
    const unspoken = table.ports.filter(({ protocol: spoken }) => spoken === 'SCTP').map(({ key }) => `${key}: SCTP cannot be forwarded in user space`);
    return [...problemsOf(untaken, table), ...unspoken];
  }

  /** It costs the same either way. */
  async verify(): Promise<void> {
    const report = await this.#found();
    if (this.#told === undefined || (report !== undefined && report.served !== '')) return;
    this.#options.log.warn('the forwarder of Services has ended: it is started again');
    await this.apply(this.#told.table, this.#told.hostPorts);
  }

  async hostPorts(): Promise<readonly PublishedPort[]> {
    return (await this.#found())?.hostPorts ?? [];
  }

  async remove(): Promise<void> {
    const report = await ask(this.#socket, { do: 'end' }).catch(() => undefined);
    for (const range of new Set([...(report?.madeLocal ?? []), ...this.#madeLocal])) await unmakeLocal(this.#options.namespace, range).catch(() => undefined);
    this.#madeLocal.clear();
  }

  /** One that runs in another namespace (the node's was made anew) or is of another version makes room. */
  async #ensure(): Promise<void> {
    if ((await this.#found()) !== undefined) return;
    await ask(this.#socket, { do: 'end' }).catch(() => undefined);
    const { namespace, folder, name } = this.#options;
    const logFile = join(folder, `${name}.log`);
    const [command, args] = commandIn(namespace, process.execPath, ['--disable-warning=ExperimentalWarning', program, this.#socket]);
    const output = openSync(logFile, 'a', 0o600);
    const child = spawn(command, args, { detached: true, stdio: ['ignore', output, output], env: {} });
    closeSync(output);
    let ended: string | undefined;
    child.once('error', (error) => (ended = error.message));
    child.once('exit', (code, signal) => (ended = `ended with ${signal ?? code}`));
    child.unref();
    for (const deadline = Date.now() + startWithinMs; (await this.#found()) === undefined; await after(20)) {
      if (ended === undefined && Date.now() <= deadline) continue;
      // Nor later: beside another one that is then started it would hold its ports.
      child.kill('SIGKILL');
      throw new Error(`the forwarder of Services does not start: ${ended ?? `no answer within ${startWithinMs / 1_000} s`}; its log: ${logFile}`);
    }
  }

  async #found(): Promise<Report | undefined> {
    const report = await ask(this.#socket, { do: 'look' }).catch((error: unknown) => {
      // One that is busy is there: another one beside it would find its ports taken.
      if (error instanceof NoAnswerYet) throw error;
      return undefined;
    });
    return report?.protocol === protocol && report.namespace === (await identityOf(this.#options.namespace)) ? report : undefined;
  }

  async #makeLocal(ranges: readonly string[]): Promise<void> {
    for (const range of ranges) {
      if (this.#madeLocal.has(range)) continue;
      try {
        await makeLocal(this.#options.namespace, range);
        this.#madeLocal.add(range);
      } catch (error) {
        if (!this.#refused.has(range)) this.#options.log.info({ err: error, range }, 'ClusterIPs are not made local: this needs an administrator');
        this.#refused.add(range);
      }
    }
  }
}

/** A path that the kernel takes: a folder may be too long for it. */
function socketIn(folder: string, name: string): string {
  const path = join(folder, `${name}.sock`);
  return path.length <= 100 ? path : join(tmpdir(), `roundsman-${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sock`);
}

function problemsOf(untaken: readonly Untaken[], { clusterIpCidrs, ports }: ForwardingTable): string[] {
  const clusterIPs = new Set(ports.map(({ clusterIP }) => clusterIP));
  const notLocal = untaken.filter(({ address, code }) => code === 'EADDRNOTAVAIL' && clusterIPs.has(address));
  const commands = clusterIpCidrs.map(commandFor);
  const others = untaken.filter((one) => !notLocal.includes(one));
  return [
    ...(notLocal.length === 0 ? [] : [`ClusterIPs are no addresses of this machine yet; as an administrator run once: ${commands.join(' && ')}`]),
    ...others.slice(0, 5).map(({ address, port, code }) => `${address} port ${port}: ${code}`),
    ...(others.length > 5 ? [`and ${others.length - 5} more`] : []),
  ];
}
