import { existsSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { agentIdentity, createCredential, createIssuer, ingressIdentity, loadIdentities, loadSeed, renderServerConfig, runnerIdentity, saveIdentities, serviceIdentity, serviceRoles, type Credential, type Identity } from '@roundsman/bus';
import type { Home } from './home.ts';
import { memberIdentities } from './join/members.ts';
import type { NatsBinary } from './nats-binary.ts';
import { runnerOf } from './nodes.ts';
import { signal } from './processes.ts';
import { ServerProcess } from './server-process.ts';

const reloadWithinMs = 5_000;

export interface NatsServer {
  readonly process: ServerProcess;
  readonly url: string;
  /** Lets in the members there are now, and nobody else; resolves when it does. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** Keys of every service, node and runner, and of the machine's ingress proxy (its first node keeps it), made once and kept; further nodes get theirs when they are first asked for. */
export async function identities(home: Home, nodes: readonly string[]): Promise<Credential[]> {
  const folder = home.file('keys');
  const wanted = [
    ...serviceRoles.map(serviceIdentity),
    serviceIdentity('operator'),
    ...nodes.flatMap((node) => [agentIdentity(node), runnerIdentity(runnerOf(node), node)]),
    ...nodes.slice(0, 1).map(ingressIdentity),
  ];
  const have = new Map((await loadIdentities(folder)).map((one) => [one.name, one]));
  const missing = wanted.filter(({ name }) => !have.has(name)).map(createCredential);
  const all = [...have.values(), ...missing];
  if (missing.length > 0) await saveIdentities(folder, all);
  return all;
}

/** Where `identities` keeps the seed of one of them. */
export const seedFileOf = (home: Home, { name }: Identity): string => home.file('keys', `${name}.nk`);

/** Where the seed of the account nkey lies by which `controllers` let runners in pods in. */
export const issuerSeedFile = (home: Home): string => home.file('keys', 'issuer.nk');

/** Public key of that account; made once and kept. */
export async function issuerOf(home: Home): Promise<string> {
  if (!existsSync(issuerSeedFile(home))) home.write('keys/issuer.nk', `${createIssuer().seed}\n`);
  return (await loadSeed(issuerSeedFile(home))).publicKey;
}

/** How NATS is set up. */
export interface NatsSettings {
  readonly home: Home;
  readonly port: number;
  readonly monitorPort: number;
  readonly identities: readonly Credential[];
  /** Also reached from other machines and from pods, at every address of this one: by TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Public key of the account whose log-ins count besides those of `identities`; absent: nobody else is let in. */
  readonly issuer?: string | undefined;
}

/** All addresses, of both families where the machine has both. */
const everywhere = (): string => (Object.values(networkInterfaces()).some((list) => list?.some(({ family }) => family === 'IPv6')) ? '::' : '0.0.0.0');

function writeConfig({ home, port, monitorPort, identities, tls, issuer }: NatsSettings): void {
  const host = tls === undefined ? '127.0.0.1' : everywhere();
  home.write('data/nats.conf', renderServerConfig({ host, port, httpPort: monitorPort, storeDir: home.file('data', 'nats'), ...(tls === undefined ? {} : { tls: { certFile: tls.certFile, keyFile: tls.keyFile } }), ...(issuer === undefined ? {} : { issuer }), identities: [...identities, ...memberIdentities(home)] }));
}

/** Starts NATS with the permissions of the identities and of those that joined; resolves when it greets a client. */
export async function startNats(options: NatsSettings & { binary: NatsBinary }): Promise<NatsServer> {
  const { home, binary, port } = options;
  mkdirSync(home.file('data', 'nats'), { recursive: true, mode: 0o700 });
  writeConfig(options);
  const server = await ServerProcess.start({
    name: 'nats',
    command: binary.path,
    args: ['-c', home.file('data', 'nats.conf')],
    logFile: home.file('logs', 'nats.log'),
    // A soft limit: the collector works harder before memory grows.
    env: { ...process.env, GOMEMLIMIT: '48MiB', GOGC: '50' },
  });
  try {
    await server.whenReady(() => greets(port), 20_000);
  } catch (error) {
    await server.stop([{ signal: 'SIGKILL', withinMs: 2_000 }]);
    throw error;
  }
  // One after another: each waits for the load of its own file.
  let reloading: Promise<void> = Promise.resolve();
  const reload = (): Promise<void> => {
    const mine = reloading.then(async () => {
      const before = await configLoaded(options.monitorPort);
      writeConfig(options);
      signal(server.recorded, 'SIGHUP');
      for (const deadline = Date.now() + reloadWithinMs; (await configLoaded(options.monitorPort)) === before; ) {
        if (Date.now() > deadline) throw new Error(`NATS did not load its new configuration within ${reloadWithinMs / 1000} s; ${home.file('logs', 'nats.log')} says why`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    reloading = mine.catch(() => undefined);
    return mine;
  };
  return { process: server, url: `nats://127.0.0.1:${port}`, reload, stop: () => server.stop([{ signal: 'SIGTERM', withinMs: 4_000 }, { signal: 'SIGKILL', withinMs: 2_000 }]) };
}

/** When the server loaded its configuration last, in its own words. */
async function configLoaded(monitorPort: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${monitorPort}/varz`, { signal: AbortSignal.timeout(reloadWithinMs) });
  return ((await response.json()) as { config_load_time: string }).config_load_time;
}

/** The server speaks first: its INFO line says that clients may connect. */
function greets(port: number): Promise<boolean> {
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
