import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connectBus, createCredential, createIssuer, renderServerConfig } from '@roundsman/bus';
import type { Bus, BusLog, Identity } from '@roundsman/bus';
import { natsServer } from './nats-binary.ts';
import { freePort } from './ports.ts';
import { ServerProcess, temporaryDirectory } from './server-process.ts';

export interface NatsOptions {
  /** The product's own configuration for these: their permissions hold. Default: JetStream without authorization. */
  readonly identities?: readonly Identity[];
  /** With `identities`, of whom one is the controllers: clients without an nkey are let in by whoever answers with `issuerSeed`. */
  readonly issuer?: boolean;
  /** PEM files: whoever wants TLS gets it, all others are served plain. With `identities`. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Another configuration; `port` and `storeDir` are chosen here. */
  readonly config?: (at: { port: number; storeDir: string }) => string;
  /** Address it listens on; default 127.0.0.1. */
  readonly host?: string;
  /** Kept after `stop`; a temporary one otherwise. */
  readonly storeDir?: string;
}

export interface TestNats {
  readonly url: string;
  readonly port: number;
  /** nkey seed of one of `identities`. */
  seed(identity: string): string;
  /** Of a server with `issuer`. */
  readonly issuerSeed: string;
  /** A bus of this identity; closed by `stop`. Of any name where there are no `identities`. */
  connect(identity: string, options?: { log?: BusLog; onFatal?: (error: Error) => void }): Promise<Bus>;
  /** Ends the server as a crash would; `restart` brings it back on the same port with the same store. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  restart(): Promise<void>;
  /** Stops the process in its tracks: connections stay, nothing is read or answered, until `resume`. */
  pause(): void;
  resume(): void;
  /** Kills the server, empties its store, starts it again: what JetStream held is gone. */
  wipe(): Promise<void>;
  /** Restarts it with new keys for all identities: those given out so far are refused. */
  replaceKeys(): Promise<void>;
  /** Closes the buses made here, ends the server, removes its files. */
  stop(): Promise<void>;
}

const openConfig = ({ port, storeDir }: { port: number; storeDir: string }): string =>
  `listen: "127.0.0.1:${port}"\nmax_payload: 4MB\njetstream { store_dir: ${JSON.stringify(storeDir)}, sync_interval: always }\n`;

/** Whether the server greets a connection; it speaks first. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (ok: boolean): void => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('data', () => end(true));
    socket.once('error', () => end(false));
    socket.setTimeout(1_000, () => end(false));
  });
}

/** A real NATS server on a free loopback port, gone with this process. */
export async function startNats(options: NatsOptions = {}): Promise<TestNats> {
  const directory = temporaryDirectory('nats');
  const storeDir = options.storeDir ?? join(directory, 'store');
  const logFile = join(directory, 'server.log');
  const configFile = join(directory, 'nats.conf');
  const buses: Bus[] = [];
  const issuer = createIssuer();
  let credentials = options.identities?.map(createCredential);
  const configure = (at: { port: number; storeDir: string }): string => {
    if (options.config !== undefined) return options.config(at);
    return credentials === undefined ? openConfig(at) : renderServerConfig({ host: options.host ?? '127.0.0.1', ...at, identities: credentials, ...(options.issuer === true ? { issuer: issuer.publicKey } : {}), ...(options.tls === undefined ? {} : { tls: options.tls }) });
  };
  const seedOf = (identity: string): string => {
    const seed = credentials?.find(({ name }) => name === identity)?.seed;
    if (seed === undefined) throw new Error(`the server was started without the identity ${identity}`);
    return seed;
  };
  let port = 0;
  let server: ServerProcess | undefined;

  const up = async (): Promise<void> => {
    mkdirSync(storeDir, { recursive: true });
    writeFileSync(configFile, configure({ port, storeDir }));
    server = new ServerProcess({ command: natsServer(), args: ['-c', configFile], logFile, directory, lastSignal: 'KILL' });
    await server.start();
    const deadline = Date.now() + 20_000;
    while (!(await answers(port))) {
      if (!server.running || Date.now() > deadline) throw new Error(`nats-server did not come up:\n${server.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  for (let attempt = 1; ; attempt += 1) {
    port = await freePort();
    try {
      await up();
      break;
    } catch (error) {
      await server?.kill('SIGKILL');
      if (attempt === 3) throw error;
    }
  }

  const url = `nats://127.0.0.1:${port}`;
  const kill = async (signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> => server?.kill(signal);
  return {
    url,
    port,
    seed: seedOf,
    issuerSeed: issuer.seed,
    connect: async (identity, more = {}) => {
      const bus = await connectBus({ servers: url, identity, ...(credentials === undefined ? {} : { seed: seedOf(identity) }), ...more });
      buses.push(bus);
      return bus;
    },
    kill,
    restart: async () => {
      await kill();
      await up();
    },
    pause: () => server?.pause(),
    resume: () => server?.resume(),
    wipe: async () => {
      await kill();
      rmSync(storeDir, { recursive: true, force: true });
      await up();
    },
    replaceKeys: async () => {
      credentials = options.identities?.map(createCredential);
      await kill();
      await up();
    },
    stop: async () => {
      await Promise.allSettled(buses.map((bus) => bus.close()));
      await kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
