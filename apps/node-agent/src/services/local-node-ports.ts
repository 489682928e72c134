import type { Logger } from 'pino';
import type { ForwardedPort, ForwardingTable } from './forwarding/table.ts';
import { TableServer, type Untaken } from './userspace/table-server.ts';

const loopback = { IPv4: '127.0.0.1', IPv6: '::1' } as const;

/**
 * Answers NodePorts at `localhost`, for people at the machine: the kernel's rules leave loopback alone, since what they lead elsewhere needs `route_localnet`, by which neighbours
 * reach what listens on loopback only. So the agent takes these connections itself; they end with it. SCTP is not served.
 */
export class LocalNodePorts {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #server = new TableServer();
  #last: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Those that cannot be had: told once. */
  #told: ReadonlySet<string> = new Set();

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** In effect when it resolves, which it does also when that did not work. A port that cannot be had is tried again the next time. */
  serve(table: ForwardingTable): Promise<void> {
    this.#last = this.#last.then(() => this.#serve(table)).catch((error: unknown) => this.#log.warn({ err: error }, 'NodePorts are not answered at localhost as they should be'));
    return this.#last;
  }

  async #serve(table: ForwardingTable): Promise<void> {
    if (this.#stopped) return;
    const untaken = await this.#server.serve({ ...table, ports: table.ports.flatMap(atLoopback) }, []);
    if (this.#stopped) this.#server.close();
    else this.#tell(untaken);
  }

  stop(): void {
    this.#stopped = true;
    this.#server.close();
  }

  #tell(untaken: readonly Untaken[]): void {
    const keys = new Set(untaken.map(({ address, port }) => `${address} ${port}`));
    for (const { address, port, code } of untaken) if (!this.#told.has(`${address} ${port}`)) this.#log.warn({ address, port, code }, `a NodePort is not answered at localhost: ${code === 'EADDRINUSE' ? 'another program has the port' : code}; by the addresses of the machine it is`);
    this.#told = keys;
  }
}

/** As a Service that is reached at nothing but this address: no client there is from outside. */
function atLoopback(port: ForwardedPort): ForwardedPort[] {
  if (port.nodePort === undefined) return [];
  return [{ ...port, port: port.nodePort, nodePort: undefined, clusterIP: '', externalIPs: [loopback[port.family]], loadBalancerIPs: [], internalLocal: false, externalLocal: false }];
}
