import type { Socket as Datagram } from 'node:dgram';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { messageOf, type RunnerLog } from '../log.ts';
import { ownAddresses, reachable, type Address } from './addresses.ts';
import { CertificateKeeper, retryAfterMs } from './certificate-keeper.ts';
import { echoCertificate, type EchoCertificate } from './certificate.ts';
import { Counters } from './counters.ts';
import { EchoDns, type Upstream } from './dns.ts';
import { echoListener, echoServer } from './http.ts';
import { listenOn, type Accept } from './listen.ts';
import { serveUdpEcho } from './udp.ts';

/** What the echo target listens on; `dns` is UDP and TCP. */
export const echoPorts = ['http', 'https', 'dns', 'dot', 'udp'] as const;
export type EchoPort = (typeof echoPorts)[number];

export interface EchoOptions {
  /** IP addresses; every port is opened on each of them. */
  readonly addresses: readonly string[];
  /** Addresses by which others reach it, where these are not those it listens on. */
  readonly advertised?: readonly string[];
  /** Fixed ports; those left out are chosen, and kept over restarts while they are free. */
  readonly ports?: Partial<Record<EchoPort, number>>;
  /** Holds the certificate and the chosen ports. */
  readonly folder: string;
  readonly serverName: string;
  /** Names besides the addresses that the certificate is for. */
  readonly names: readonly string[];
  /** The certificate; one is made when it is not given. */
  readonly certificate?: EchoCertificate;
  /** PEM: HTTPS lets in only those whose certificate is signed by it. */
  readonly clientCa?: string;
  readonly upstream?: Upstream;
  readonly log?: Pick<RunnerLog, 'error'>;
}

/** Tries for a port number that is free on every address and protocol. */
const tries = 30;
/** Making the certificate takes a quarter of a second of CPU: the start of a runner is spared it, and so are those that start beside it. */
const certifyAfterMs = 3_000;

/** The target that other runners probe: HTTP, HTTPS (HTTP/2 by ALPN), DNS over UDP, TCP and TLS, and a plain UDP echo. */
export class EchoTarget {
  readonly counters = new Counters();
  readonly addresses: readonly Address[];
  ports: Record<EchoPort, number> = { http: 0, https: 0, dns: 0, dot: 0, udp: 0 };
  /** Why `/healthz` does not answer 200, in words. */
  problem: string | undefined = 'the echo target starts';
  readonly #options: EchoOptions;
  readonly #dns: EchoDns;
  readonly #streams = new Set<Socket>();
  readonly #open: (Server | Datagram)[] = [];
  #started: Promise<void> | undefined;
  #certifying: NodeJS.Timeout | undefined;
  #http: HttpServer | undefined;
  #secure: Promise<{ https: Server; dot: Server }> | undefined;
  readonly #keeper: CertificateKeeper;

  constructor(options: EchoOptions) {
    this.#options = options;
    this.#dns = new EchoDns(this.counters, options.upstream);
    this.addresses = (options.advertised?.length ? options.advertised : options.addresses).map(reachable);
    this.#keeper = new CertificateKeeper(
      () => this.#certify(),
      (error) => options.log?.error({ error: messageOf(error) }, `the echo target has no certificate: it answers neither HTTPS nor DNS over TLS; tried again when somebody asks, not within ${retryAfterMs / 1000} s`),
    );
  }

  /** PEM of the authority behind its certificate. */
  async ca(): Promise<string> {
    return (await this.#certified()).ca;
  }

  /** Listens on everything. Rejects, naming address and port, when a fixed port is taken. */
  start(): Promise<void> {
    return (this.#started ??= this.#start());
  }

  async #start(): Promise<void> {
    const { serverName, certificate } = this.#options;
    const listener = echoListener({ counters: this.counters, serverName, caPem: () => this.ca(), problem: () => this.problem });
    const http = (this.#http = echoServer(listener));
    const accept: Record<EchoPort, Accept> = {
      http: { tcp: (socket) => http.emit('connection', this.#tracked(socket)) },
      https: { tcp: (socket) => this.#tls('https', this.#tracked(socket), listener) },
      dns: { tcp: (socket) => this.#dns.serveStream(this.#tracked(socket), 'dnsTcp'), udp: (socket) => this.#dns.serveUdp(socket) },
      dot: { tcp: (socket) => this.#tls('dot', this.#tracked(socket), listener) },
      udp: { udp: (socket) => serveUdpEcho(socket, this.counters) },
    };
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    const before = await this.#readPorts();
    try {
      for (const name of echoPorts) this.ports[name] = await this.#listen(name, accept[name], before[name]);
      await this.#writePorts();
    } catch (error) {
      await this.stop();
      throw error;
    }
    // A failure is told where it happens; whoever comes by TLS makes it be tried again.
    if (certificate === undefined) this.#certifying = setTimeout(() => void this.#certified().catch(() => undefined), certifyAfterMs).unref();
    this.problem = undefined;
  }

  async stop(): Promise<void> {
    this.problem ??= 'the echo target stops';
    clearTimeout(this.#certifying);
    for (const socket of this.#streams) socket.destroy();
    await Promise.all(this.#open.splice(0).map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    this.#http?.close();
    const secure = await this.#secure?.catch(() => undefined);
    secure?.https.close();
  }

  /** One port number for one name, on every address. */
  async #listen(name: EchoPort, accept: Accept, before: number | undefined): Promise<number> {
    const fixed = this.#options.ports?.[name];
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { port, opened } = await listenOn(this.#options.addresses, fixed ?? (attempt === 0 ? (before ?? 0) : 0), accept);
        this.#open.push(...opened);
        return port;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== 'EADDRINUSE' || fixed !== undefined || attempt >= tries) throw new Error(`echo target: cannot listen for ${name}: ${message}`, { cause: error });
      }
    }
  }

  #tracked(socket: Socket): Socket {
    this.#streams.add(socket);
    socket.once('close', () => this.#streams.delete(socket));
    // A peer that goes away is no fault; whoever reads from the socket handles what matters.
    socket.on('error', () => socket.destroy());
    return socket;
  }

  #certified(): Promise<EchoCertificate> {
    const { certificate } = this.#options;
    return certificate === undefined ? this.#keeper.certificate() : Promise.resolve(certificate);
  }

  #certify(): Promise<EchoCertificate> {
    const { folder, names } = this.#options;
    const all = [...this.addresses, ...ownAddresses()].map(({ address }) => address);
    return echoCertificate(folder, [...new Set([...all, ...names])]);
  }

  /** TLS and HTTP/2 are loaded by the first connection that needs them. */
  #tls(side: 'https' | 'dot', socket: Socket, listener: ReturnType<typeof echoListener>): void {
    socket.pause();
    this.#secure ??= this.#makeSecure(listener).catch((error: unknown) => {
      this.#secure = undefined;
      throw error;
    });
    this.#secure.then(
      (servers) => {
        servers[side].emit('connection', socket);
        socket.resume();
      },
      () => socket.destroy(),
    );
  }

  async #makeSecure(listener: ReturnType<typeof echoListener>): Promise<{ https: Server; dot: Server }> {
    const [http2, tls, { cert, key }] = await Promise.all([import('node:http2'), import('node:tls'), this.#certified()]);
    const { clientCa } = this.#options;
    const demand = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
    // Its requests are made to look like those of HTTP/1.1 by Node's compatibility layer.
    const https = http2.createSecureServer({ cert, key, allowHTTP1: true, settings: { maxConcurrentStreams: 1000 }, ...demand }, listener as never);
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
