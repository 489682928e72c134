import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { Settings } from '../settings.ts';
import type { Request, Response } from './answers.ts';

export interface Handlers {
  readonly request: (request: Request, response: Response) => void;
  /** A request to become a WebSocket. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface Tls {
  /** Of the certificate for those that ask for none of ours, or by no name. */
  readonly key: string;
  readonly cert: string;
  /** Undefined: that one. */
  readonly contextFor: (name: string) => SecureContext | undefined;
}

type Limits = Pick<Settings, 'clientMs' | 'keepAliveMs' | 'headerBytes' | 'connections'>;

// Whoever asks for another protocol than WebSocket gets an ordinary answer.
const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

const checkEveryMs = 2_000;
const backlog = 4_096;

/** One port that clients connect to: HTTP/1.1, with TLS also HTTP/2. Limits on what a client may cost are kept here. */
export class Listener {
  readonly #server: Server | Http2SecureServer;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(handlers: Handlers, limits: Limits, tls?: Tls) {
    const options = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.clientMs,
      // A body may take as long as it keeps coming: its silence is limited where it is read.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: checkEveryMs,
      noDelay: true,
      shouldUpgradeCallback,
    };
    this.#server = tls === undefined ? createServer(options, handlers.request) : this.#secure(options, handlers, tls, limits);
    this.#server.maxConnections = limits.connections;
    // The TLS server does not take this one as an option.
    Object.assign(this.#server, { shouldUpgradeCallback });
    this.#server.on('upgrade', handlers.upgrade);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Connections of clients that are open now. */
  get connections(): number {
    return this.#sockets.size;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Rejects when the port is taken. */
  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog }, () => {
        this.#server.off('error', reject);
        // Of a connection that could not be taken (no descriptor is left); the others go on.
        this.#server.on('error', () => undefined);
        resolve();
      });
    });
  }

  /** Takes no more connections, lets those end that are at work, and resolves when none is left. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      // Those that are kept after the answer which is under way: no other request comes on them.
      Object.assign(this.#server, { keepAliveTimeout: 1, keepAliveTimeoutBuffer: 0 });
      for (const session of this.#sessions) session.close();
      (this.#server as Server).closeIdleConnections();
    });
  }

  /** Ends every connection. */
  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #secure(options: object, handlers: Handlers, { key, cert, contextFor }: Tls, { headerBytes, keepAliveMs }: Limits): Http2SecureServer {
    const server = createSecureServer(
      {
        ...options,
        allowHTTP1: true,
        key,
        cert,
        minVersion: 'TLSv1.2',
        handshakeTimeout: 10_000,
        SNICallback: (name, done) => done(null, contextFor(name)),
        settings: { maxConcurrentStreams: 250, maxHeaderListSize: headerBytes },
      },
      handlers.request,
    );
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      // Requests that wait for their answer still get it; new ones come on another connection.
      session.setTimeout(keepAliveMs, () => session.close());
    });
    return server;
  }
}
