import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server as HttpServer, type ServerOptions } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createNet, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ServerCertificate } from './certificate.ts';

/** First byte of a TLS handshake; no HTTP method starts with it. */
const tlsHandshake = 0x16;
/** Milliseconds a connection may stay silent before its first byte. */
const firstByteMs = 30_000;

const isLoopback = (address: string | undefined): boolean => address !== undefined && (address === '::1' || /^(::ffff:)?127\./.test(address));

/** Throws when this machine's neighbours could read tokens on the wire: an address that is not loopback, without a certificate. */
export function refuseOpenHttp(host: string, certificate: ServerCertificate | undefined, insecure: boolean): void {
  if (certificate !== undefined || insecure || host === 'localhost' || isLoopback(host)) return;
  throw new Error(
    `ROUNDSMAN_GATEWAY_HOST=${host} would serve plain HTTP, tokens included, beyond this machine: set ROUNDSMAN_GATEWAY_TLS_FOLDER (the gateway makes its own certificate there) or ROUNDSMAN_GATEWAY_TLS_CERT_FILE and ROUNDSMAN_GATEWAY_TLS_KEY_FILE; behind a proxy that speaks TLS, ROUNDSMAN_GATEWAY_INSECURE=true`,
  );
}

export interface Handlers {
  readonly request: RequestListener;
  /** For what `options.shouldUpgradeCallback` lets through. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** What is no HTTP. */
  readonly clientError: (error: Error, socket: Socket) => void;
}

/**
 * One port for HTTPS, and for plain HTTP from this machine: kubectl sends its token over HTTPS only, while curl and local
 * tools need no certificate. From elsewhere plain HTTP is refused, so that no token travels in the clear.
 */
export class Listener {
  readonly plain: HttpServer;
  readonly #secure: HttpServer | undefined;
  readonly #front: Server | undefined;
  readonly #sockets = new Set<Socket>();

  constructor(handlers: Handlers, options: ServerOptions, certificate: ServerCertificate | undefined) {
    const { request, upgrade, clientError } = handlers;
    this.plain = createHttp(options, request);
    this.plain.on('clientError', (error, socket) => clientError(error, socket as Socket)).on('upgrade', upgrade);
    if (!certificate) return;
    const secure = createHttps({ ...options, cert: certificate.cert, key: certificate.key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] }, request);
    secure.on('clientError', (error, socket) => clientError(error, socket as Socket)).on('upgrade', upgrade);
    // A client that does not trust us ends the handshake: its own business.
    secure.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#secure = secure;
    this.#front = createNet({ pauseOnConnect: false, noDelay: true }, (socket) => this.#sort(socket));
  }

  /** The server whose address is ours and which listens. */
  get server(): Server {
    return this.#front ?? this.plain;
  }

  closeAll(): void {
    for (const server of [this.plain, this.#secure]) server?.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
  }

  #sort(socket: Socket): void {
    this.#sockets.add(socket);
    const timer = setTimeout(() => socket.destroy(), firstByteMs);
    const leave = (): void => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    };
    socket.once('error', () => socket.destroy()).once('close', leave);
    socket.once('data', (first) => {
      clearTimeout(timer);
      socket.pause();
      socket.unshift(first);
      if (first[0] === tlsHandshake) this.#secure?.emit('connection', socket);
      else if (isLoopback(socket.remoteAddress)) this.plain.emit('connection', socket);
      else {
        socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 49\r\n\r\nThis port speaks HTTPS to clients that are remote');
        return;
      }
      process.nextTick(() => socket.resume());
    });
  }
}
