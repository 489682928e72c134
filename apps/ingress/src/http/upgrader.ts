import { Agent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { proxyUpgrade } from 'httpxy';
import type { Choice } from '../upstream/choice.ts';
import type { Endpoint } from '../upstream/endpoint.ts';

/** Hands out the one connection that was made for a request. */
class OneConnection extends Agent {
  readonly #socket: Socket;
  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }
  override createConnection(): Socket {
    return this.#socket;
  }
}

/** Passes connections that become WebSockets on to endpoints. */
export class Upgrader {
  readonly #responseMs: number;
  readonly #open = new Set<Duplex>();

  constructor(responseMs: number) {
    this.#responseMs = responseMs;
  }

  /** Connections that are open now. */
  get size(): number {
    return this.#open.size;
  }

  /** Resolves when both sides are connected, or the endpoint has answered otherwise. Rejects when no endpoint can be connected to, and nothing has been answered then. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, choice: Choice, headers: Readonly<Record<string, string>>): Promise<void> {
    const { endpoint, connection } = await connected(choice);
    if (socket.destroyed) {
      connection.destroy();
      return;
    }
    endpoint.busy += 1;
    this.#open.add(socket);
    socket.once('close', () => {
      endpoint.busy -= 1;
      this.#open.delete(socket);
      connection.destroy();
    });
    connection.once('close', () => (socket as Socket).destroySoon());
    const address = { host: endpoint.address.includes(':') ? `[${endpoint.address}]` : endpoint.address, port: endpoint.port };
    await proxyUpgrade(address, request, socket, head, { xfwd: false, headers: { ...headers }, agent: new OneConnection(connection), upgradeTimeout: this.#responseMs }).catch(() => {
      // The library has passed on what the endpoint answered instead, or has ended the connection.
    });
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

async function connected(choice: Choice): Promise<{ endpoint: Endpoint; connection: Socket }> {
  const tried = new Set<Endpoint>();
  let failure = new Error('no endpoint is left');
  for (let endpoint = choice.next(tried); endpoint !== undefined; endpoint = choice.next(tried)) {
    tried.add(endpoint);
    try {
      return { endpoint, connection: await endpoint.connect() };
    } catch (error) {
      failure = error as Error;
    }
  }
  throw failure;
}
