import { createSocket, type Socket as Datagram } from 'node:dgram';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import { createServer, isIPv6, type AddressInfo, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { echoCertificate, type EchoCertificate } from './certificate.ts';
import { Counters } from './counters.ts';
import { EchoDns, type Upstream } from './dns.ts';
import { echoListener, echoServer } from './http.ts';
import { serveUdpEcho } from './udp.ts';

/** What the echo target listens on; `dns` is UDP and TCP. */
export const echoPorts = ['http', 'https', 'dns', 'dot', 'udp'] as const;
export type EchoPort = (typeof echoPorts)[number];

export interface EchoOptions {
  /** IP addresses; every port is opened on each of them. */
  readonly addresses: readonly string[];
  /** Fixed ports; those left out are chosen, and kept over restarts while they are free. */
  readonly ports?: Partial<Record<EchoPort, number>>;
  /** Holds the certificate and the chosen ports. */
  readonly folder: string;
  readonly serverName: string;
  /** Names besides the addresses that the certificate is for. */
  readonly names: readonly string[];
  readonly upstream?: Upstream;
}

/** Tries for a port number that is free on every address and protocol. */
const tries = 30;

/** The target that other runners probe: HTTP, HTTPS (HTTP/2 by ALPN), DNS over UDP, TCP and TLS, and a plain UDP echo. */
export class EchoTarget {
  readonly counters = new Counters();
  readonly addresses: { family: 'v4' | 'v6'; address: string }[];
  ports: Record<EchoPort, number> = { http: 0, https: 0, dns: 0, dot: 0, udp: 0 };
  readonly #options: EchoOptions;
  readonly #dns: EchoDns;
  readonly #streams = new Set<Socket>();
  readonly #open: (Server | Datagram)[] = [];
  #http: HttpServer | undefined;
  #secure: Promise<{ https: Server; dot: Server }> | undefined;
  #certificate: EchoCertificate | undefined;

  constructor(options: EchoOptions) {
    this.#options = options;
    this.#dns = new EchoDns(this.counters, options.upstream);
    this.addresses = options.addresses.map((address) => ({ family: isIPv6(address) ? 'v6' : 'v4', address: reachable(address) }));
  }

  get ca(): string {
    return this.#certificate?.ca ?? '';
  }

  /** Listens on everything. Rejects, naming address and port, when a fixed port is taken. */
  async start(): Promise<void> {
    const { folder, names, serverName } = this.#options;
    this.#certificate = await echoCertificate(folder, [...this.addresses.map(({ address }) => address), ...names]);
    const listener = echoListener({ counters: this.counters, serverName, caPem: () => this.ca });
    const http = (this.#http = echoServer(listener));
    const accept: Record<EchoPort, { tcp?: (socket: Socket) => void; udp?: (socket: Datagram) => void }> = {
      http: { tcp: (socket) => http.emit('connection', socket) },
      https: { tcp: (socket) => this.#tls('https', socket, listener) },
      dns: { tcp: (socket) => this.#dns.serveStream(socket, 'dnsTcp'), udp: (socket) => this.#dns.serveUdp(socket) },
      dot: { tcp: (socket) => this.#tls('dot', socket, listener) },
      udp: { udp: (socket) => serveUdpEcho(socket, this.counters) },
    };
    const before = await this.#readPorts();
    try {
      for (const name of echoPorts) this.ports[name] = await this.#listen(name, accept[name], before[name]);
    } catch (error) {
      await this.stop();
      throw error;
    }
    await this.#writePorts();
  }

  async stop(): Promise<void> {
    for (const socket of this.#streams) socket.destroy();
    await Promise.all(this.#open.splice(0).map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    this.#http?.close();
    const secure = await this.#secure;
    secure?.https.close();
  }

  /** One port number for one name, on every address. */
  async #listen(name: EchoPort, accept: { tcp?: (socket: Socket) => void; udp?: (socket: Datagram) => void }, before: number | undefined): Promise<number> {
    const fixed = this.#options.ports?.[name];
    for (let attempt = 0; ; attempt += 1) {
      const opened: (Server | Datagram)[] = [];
      let port = fixed ?? (attempt === 0 ? (before ?? 0) : 0);
      try {
        for (const address of this.#options.addresses) {
          if (accept.tcp !== undefined) {
            const server = await listenTcp(address, port, (socket) => this.#track(socket), accept.tcp);
            opened.push(server);
            port = (server.address() as AddressInfo).port;
          }
          if (accept.udp !== undefined) {
            const socket = await bindUdp(address, port);
            opened.push(socket);
            port = socket.address().port;
            accept.udp(socket);
          }
        }
        this.#open.push(...opened);
        return port;
      } catch (error) {
        for (const server of opened) server.close();
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== 'EADDRINUSE' || fixed !== undefined || attempt >= tries) throw new Error(`echo target: cannot listen for ${name}: ${message}`, { cause: error });
      }
    }
  }

  #track(socket: Socket): void {
    this.#streams.add(socket);
    socket.once('close', () => this.#streams.delete(socket));
    // A peer that goes away is no fault; whoever reads from the socket handles what matters.
    socket.on('error', () => socket.destroy());
  }

  /** TLS and HTTP/2 are loaded by the first connection that needs them. */
  #tls(side: 'https' | 'dot', socket: Socket, listener: ReturnType<typeof echoListener>): void {
    socket.pause();
    this.#secure ??= this.#makeSecure(listener);
    this.#secure.then(
      (servers) => {
        servers[side].emit('connection', socket);
        socket.resume();
      },
      () => socket.destroy(),
    );
  }

  async #makeSecure(listener: ReturnType<typeof echoListener>): Promise<{ https: Server; dot: Server }> {
    const [http2, tls] = await Promise.all([import('node:http2'), import('node:tls')]);
    const { cert, key } = this.#certificate ?? {};
    // Its requests are made to look like those of HTTP/1.1 by Node's compatibility layer.
    const https = http2.createSecureServer({ cert, key, allowHTTP1: true, settings: { maxConcurrentStreams: 1000 } }, listener as never);
    const dot = tls.createServer({ cert, key, ALPNProtocols: ['dot'] }, (stream) => this.#dns.serveStream(stream, 'dot'));
    for (const server of [https, dot]) server.on('tlsClientError', (_: Error, stream: Socket) => stream.destroy());
    https.on('sessionError', () => {
      // The session is closed by Node; its peer sees that.
    });
    return { https, dot };
  }

  async #readPorts(): Promise<Partial<Record<EchoPort, number>>> {
    try {
      return JSON.parse(await readFile(join(this.#options.folder, 'echo-ports.json'), 'utf8')) as Partial<Record<EchoPort, number>>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return {};
      throw error;
    }
  }

  async #writePorts(): Promise<void> {
    const file = join(this.#options.folder, 'echo-ports.json');
    await writeFile(`${file}.new`, JSON.stringify(this.ports));
    await rename(`${file}.new`, file);
  }
}

function listenTcp(address: string, port: number, track: (socket: Socket) => void, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => {
    track(socket);
    accept(socket);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port, ipv6Only: true, backlog: 1024 }, () => resolve(server));
  });
}

function bindUdp(address: string, port: number): Promise<Datagram> {
  const socket = createSocket({ ...(isIPv6(address) ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' }), recvBufferSize: 4 << 20 });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, address, () => {
      socket.off('error', reject);
      // Errors of datagrams already sent (nobody listens there any more) come back here; they concern nobody.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** An address that others can use: for an unspecified one, the machine's first that is not loopback. */
function reachable(address: string): string {
  if (address !== '0.0.0.0' && address !== '::') return address;
  const family = address === '::' ? 'IPv6' : 'IPv4';
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outer = own.find((entry) => entry.family === family && !entry.internal && !entry.address.startsWith('fe80:'));
  return outer?.address ?? (family === 'IPv6' ? '::1' : '127.0.0.1');
}
