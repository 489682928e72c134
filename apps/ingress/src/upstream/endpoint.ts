import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** No connection was made, so nothing has been sent: any request may go to another endpoint. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

/** Idle connections kept for an endpoint, and how long. */
const idleConnections = 256;
const idleMs = 60_000;
/** An endpoint that could not be connected to is passed over for this long, while there are others. */
const avoidedMs = 2_000;

/** Connections to one endpoint, kept for the next request. A request has a socket only once that is connected. */
class EndpointAgent extends Agent {
  readonly #endpoint: Endpoint;

  constructor(endpoint: Endpoint) {
    super({ keepAlive: true, maxFreeSockets: idleConnections, scheduling: 'lifo', timeout: idleMs });
    this.#endpoint = endpoint;
  }

  override createConnection(_options: ClientRequestArgs, done: (error: Error | null, socket: Duplex) => void): undefined {
    void this.#connected(done);
  }

  /** Of an endpoint that is gone none is kept. */
  override keepSocketAlive(socket: Duplex): boolean {
    return !this.#endpoint.retired && (super.keepSocketAlive(socket) as unknown as boolean);
  }

  async #connected(done: (error: Error | null, socket: Duplex) => void): Promise<void> {
    const [error, socket] = await this.#endpoint.connect().then((made) => [null, made] as const, (failed: Error) => [failed, undefined] as const);
    done(error, socket as Socket);
  }

  closeIdle(): void {
    for (const sockets of Object.values(this.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }
}

/** One address and port that requests are forwarded to. */
export class Endpoint {
  readonly address: string;
  readonly port: number;
  readonly agent: EndpointAgent;
  /** Requests and upgraded connections that are under way. */
  busy = 0;
  /** In how many lists it is; of 0 it is retired. */
  uses = 0;
  #avoidedUntil = 0;
  #retired = false;
  readonly #connectMs: number;

  constructor(address: string, port: number, connectMs: number) {
    this.address = address;
    this.port = port;
    this.#connectMs = connectMs;
    this.agent = new EndpointAgent(this);
  }

  get text(): string {
    return `${this.address.includes(':') ? `[${this.address}]` : this.address}:${this.port}`;
  }

  get retired(): boolean {
    return this.#retired;
  }

  get avoided(): boolean {
    return Date.now() < this.#avoidedUntil;
  }

  /** A new connection. Rejects with NotConnected when there is none within the time. */
  connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.address, port: this.port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
      const failed = (why: string, cause?: Error): void => {
        socket.destroy();
        this.#avoidedUntil = Date.now() + avoidedMs;
        reject(new NotConnected(`${this.text}: ${why}`, { cause }));
      };
      const timer = setTimeout(() => failed(`no connection within ${this.#connectMs} ms`), this.#connectMs);
      const onError = (error: NodeJS.ErrnoException): void => {
        clearTimeout(timer);
        failed(error.code ?? error.message, error);
      };
      socket.once('error', onError);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.off('error', onError);
        this.#avoidedUntil = 0;
        resolve(socket);
      });
    });
  }

  /** It gets no more requests: what is under way goes on, idle connections end. */
  retire(): void {
    this.#retired = true;
    this.agent.closeIdle();
  }
}
