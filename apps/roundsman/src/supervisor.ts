import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { serverCertificate } from '@roundsman/gateway';
import { connectBus, messages } from '@roundsman/bus';
import { refuseUnknownSettings, runServices, type RunningServices } from '@roundsman/service';
import type { Logger } from 'pino';
import { writeAccess } from './access.ts';
import { dockerNotice, dockerState, findDocker } from './docker.ts';
import { forgetPods, GatewayClient, nodeProblems, removeNode, removeRunnerProcess } from './gateway-client.ts';
import type { Home, RecordedProcess, State } from './home.ts';
import { JoinServer } from './join/join-server.ts';
import { KeptServer } from './kept-server.ts';
import { logTo } from './log.ts';
import { networkModeFor, networkOf } from './network/home-network.ts';
import type { NetworkChoice } from './network/ranges.ts';
import { bringNats, type NatsBinary } from './nats-binary.ts';
import { natsCertificate, type NatsCertificate } from './nats-certificate.ts';
import { identities, issuerOf, startNats, type NatsServer } from './nats-server.ts';
import { nodeNames } from './nodes.ts';
import { endPods } from './pods.ts';
import { choosePorts } from './ports.ts';
import { startPostgres, type PostgresServer } from './postgres-server.ts';
import { goAhead } from './priority.ts';
import { descendants, record } from './processes.ts';
import { carrierOf, type Carrier } from './runners/carrier.ts';
import { runnerProblems } from './runners/ready.ts';
import { controlPlane, loadServices, serviceNames } from './services.ts';
import { endpointAt, runsOf } from './service-runs.ts';
import type { Supervised } from './stay.ts';
import { version } from './version.ts';

export interface SuperviseOptions {
  readonly home: Home;
  readonly nodes: number;
  /** Socket or `off`; not given: where Docker usually is. */
  readonly docker?: string | undefined;
  readonly ports: { readonly gateway?: number | undefined; readonly nats?: number | undefined; readonly postgres?: number | undefined };
  /** Address under which other machines reach NATS and may join; not given: this cluster is this machine alone. */
  readonly listen?: string | undefined;
  /** Addresses of the cluster that were asked for; others as the home has them. */
  readonly network: Partial<NetworkChoice>;
  /** Told what is being done, for people. */
  readonly say: (text: string) => void;
  /** Something that cannot be mended ended while running. `stop` has not been called yet. */
  readonly onFatal: (error: Error) => void;
}

const readyWithinMs = 60_000;
/** Runners in pods are waited for so long: they may need another image, or a Docker that is slow. Tasks wait for them by themselves. */
const podsWithinMs = 20_000;

/**
 * Everything of one home: Postgres and NATS as children, the control plane and the node agents in this process, the runners
 * as children of the agents. The home must have been taken (lock.ts) and be free of leftovers.
 */
export class Supervisor implements Supervised {
  readonly #options: SuperviseOptions;
  readonly #log: Logger;
  #state: State | undefined;
  #nats: KeptServer<NatsServer> | undefined;
  #postgres: KeptServer<PostgresServer> | undefined;
  #services: RunningServices | undefined;
  #joining: JoinServer | undefined;
  #recorder: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  /** Why it cannot go on. */
  #ended: string | undefined;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#log = logTo(options.home);
  }

  get log(): Logger {
    return this.#log;
  }

  /** Resolves when the gateway is ready and so are all nodes and runners; runners in pods that do not come in time are told of. On failure stops what was started and rejects. */
  async start(): Promise<State> {
    try {
      return await this.#start();
    } catch (error) {
      this.#log.error({ err: error }, 'start failed');
      await this.stop().catch((stopError: unknown) => this.#log.error({ err: stopError }, 'stopping after a failed start'));
      throw error;
    }
  }

  async #start(): Promise<State> {
    const { home, say } = this.#options;
    refuseUnknownSettings([...serviceNames, 'runner'], process.env);
    goAhead(process.pid);
    const startedAt = new Date().toISOString();
    const nodes = nodeNames(this.#options.nodes);
    const before = home.state();
    const docker = await findDocker(this.#options.docker, before?.docker);
    const notice = dockerNotice(docker, this.#options.docker, ' here');
    if (notice !== undefined) say(notice);
    const homeNetwork = await networkOf(home, this.#options.network);
    const addresses = { ...homeNetwork.choice, mode: networkModeFor(nodes.length) };
    // With fewer nodes than the last time: nobody looks after the pods of the others any more.
    const dropped = (before?.nodes ?? []).filter((node) => !nodes.includes(node));
    if (dropped.length > 0) say(`Removing ${dropped.join(', ')} with all that runs there; local volumes on ${dropped.length === 1 ? 'it' : 'them'} are out of reach until as many nodes are started again.`);
    await endPods(home, dropped);
    const ports = await choosePorts(
      (['gateway', 'nats', 'natsMonitor', 'postgres', 'join'] as const).map((name) => ({ name, set: name === 'natsMonitor' || name === 'join' ? undefined : this.#options.ports[name], remembered: before?.ports[name] })),
    );
    const token = home.token(() => `rm_${randomBytes(24).toString('base64url')}`);
    const secrets = home.secrets(() => ({ postgres: randomBytes(24).toString('hex'), grafana: randomBytes(24).toString('hex') }));
    this.#save({
      version,
      phase: 'starting',
      startedAt,
      nodes,
      ...dockerState(docker),
      ...(this.#options.listen === undefined ? {} : { listen: { address: this.#options.listen, joinPort: ports['join']! } }),
      network: addresses,
      gateway: `http://127.0.0.1:${ports['gateway']}`,
      nats: `nats://127.0.0.1:${ports['nats']}`,
      natsMonitor: `http://127.0.0.1:${ports['natsMonitor']}`,
      postgres: '',
      grafana: '',
      ports,
      postgresData: before?.postgresData ?? '',
      supervisor: record('supervisor', process.pid)!,
      processes: [],
    });

    const { listen } = this.#options;
    say('Starting NATS and Postgres ...');
    const pods = 'socket' in docker && process.env['ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME'] !== 'process';
    const certificate = pods || listen !== undefined ? await natsCertificate(home, listen, process.env) : undefined;
    const carrying = carrierOf(home, docker, certificate?.addresses ?? [], process.env, say);
    const issuer = pods ? await issuerOf(home) : undefined;
    const loading = loadServices([...controlPlane, 'node-agent']);
    // Awaited below; until then a failure here must not look like an unhandled one.
    loading.catch(() => undefined);
    const credentials = await identities(home, nodes);
    const seeds = new Map(credentials.map(({ name, seed }) => [name, seed]));
    let binary: NatsBinary | undefined;
    const [nats, postgres] = await settle([
      this.#keep('NATS', () => startNats({ home, binary: (binary ??= bringNats(say)), port: ports['nats']!, monitorPort: ports['natsMonitor']!, identities: credentials, tls: certificate?.files, issuer })).then((kept) => (this.#nats = kept).current),
      this.#keep('Postgres', () => startPostgres({ home, port: ports['postgres']!, secrets })).then((kept) => (this.#postgres = kept).current),
    ]);
    this.#save({ ...this.#state!, postgres: postgres.url, grafana: postgres.grafanaUrl, postgresData: postgres.dataFolder, processes: [nats.process.recorded, postgres.process.recorded] });

    say('Starting the services ...');
    const [definitions, carrier] = await Promise.all([loading, carrying]);
    // Controllers make runtimes by the gateway as anybody would; it answers in a moment.
    await serverCertificate({ tlsFolder: home.file('keys', 'gateway') }, ['localhost', '127.0.0.1']);
    this.#save({ ...this.#state!, runners: carrier.kind });
    writeAccess(home, this.#state!, token);
    // Listening before any runner starts: which processes are there now, not before.
    const instances = new Map<string, string>();
    const listener = await connectBus({ servers: nats.url, identity: 'operator', seed: seeds.get('operator')!, log: this.#log });
    await listener.subscribe(messages.runnerBeat, {}, ({ payload: { runner, instance } }) => void instances.set(runner, instance));
    this.#services = await runServices(runsOf(definitions, { home, nodes, ports, natsUrl: nats.url, listen, docker: 'socket' in docker ? docker.socket : '', network: addresses, carrier, certificate }), {
      env: process.env,
      log: this.#log,
      databaseUrl: postgres.url,
      connect: (identity, log) => {
        const seed = seeds.get(identity);
        if (seed === undefined) throw new Error(`no key was made for ${identity}`);
        return connectBus({ servers: nats.url, identity, seed, log, onFatal: (error) => this.#fatal(error) });
      },
    }).catch((error: unknown) => {
      throw homeNetwork.refusal(error as Error) ?? error;
    });

    say(`Waiting for ${nodes.length === 1 ? 'the node' : `${nodes.length} nodes`} and the runners ...`);
    this.#recorder = setInterval(() => this.#record(), 1_000);
    const client = new GatewayClient(this.#state!.gateway, token);
    try {
      await this.#none(readyWithinMs, async () => [...(await client.problems()), ...(await nodeProblems(client, nodes))]);
      // Before runners are waited for: none come there.
      for (const node of dropped) {
        await removeNode(client, node);
        await forgetPods(client, node);
      }
      await this.#runnersReady(client, nodes, carrier, 'silent' in docker, instances);
    } finally {
      await listener.close();
    }
    this.#record();
    if (listen !== undefined && certificate !== undefined) await this.#letJoin(listen, certificate, ports, nodes);
    this.#save({ ...this.#state!, phase: 'ready', readyAt: new Date().toISOString() });
    // Runners come and go; what was recorded is what a later command can end.
    clearInterval(this.#recorder);
    this.#recorder = setInterval(() => this.#record(), 10_000);
    this.#log.info({ gateway: this.#state!.gateway, nodes: nodes.length }, 'ready');
    return this.#state!;
  }

  /** Stops everything in reverse order; resolves when nothing runs any more. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    clearInterval(this.#recorder);
    const problems: unknown[] = [];
    const attempt = async (work: Promise<void> | undefined): Promise<void> => {
      await work?.catch((error: unknown) => problems.push(error));
    };
    await attempt(this.#joining?.stop());
    await attempt(this.#services?.stop());
    await Promise.all([attempt(this.#nats?.stop()), attempt(this.#postgres?.stop())]);
    // What was not done in time left something behind: the next command ends it.
    const processes = problems.length === 0 ? [] : this.#running();
    if (this.#state) this.#save({ ...this.#state, phase: 'stopped', processes, ...(this.#ended === undefined ? {} : { ended: this.#ended }) });
    if (problems.length > 0) throw new AggregateError(problems, problems.map(String).join('; '));
  }

  /** Who may connect has been changed in the home: NATS lets in those and nobody else. */
  async reloadMembers(): Promise<void> {
    await this.#nats?.current.reload();
  }

  async #letJoin(address: string, certificate: NatsCertificate, ports: Record<string, number>, ownNodes: readonly string[]): Promise<void> {
    const { home } = this.#options;
    this.#joining = await JoinServer.start({
      home,
      host: address,
      port: ports['join']!,
      cert: certificate.cert,
      key: certificate.key,
      ca: certificate.ca,
      ownNodes,
      reply: { cluster: home.id, nats: `nats://${endpointAt(address, ports['nats'])}`, denyEndpoints: [endpointAt(address, ports['nats'])], version },
      admit: () => this.reloadMembers(),
      log: this.#log,
    });
    this.#save({ ...this.#state!, listen: { address, joinPort: this.#joining.port } });
  }

  /** Those in pods are waited for a while: rounds begin without those that do not come. */
  async #runnersReady(client: GatewayClient, nodes: readonly string[], { kind }: Carrier, dockerIsSilent: boolean, instances: ReadonlyMap<string, string>): Promise<void> {
    if (kind === 'process') return this.#none(readyWithinMs, () => runnerProblems(client, kind, nodes, instances));
    // Of an earlier start without Docker.
    for (const node of nodes) await removeRunnerProcess(client, node);
    await this.#none(dockerIsSilent ? 0 : podsWithinMs, () => runnerProblems(client, kind, nodes, instances)).catch((error: Error) => {
      if (this.#stopping) throw error;
      this.#options.say(`The runners are not all there, rounds begin without those that are missing (npx roundsman status): ${error.message}`);
    });
  }

  /** Resolves when there are no problems any more. */
  async #none(withinMs: number, problemsNow: () => Promise<string[]>): Promise<void> {
    for (const deadline = Date.now() + withinMs; ; ) {
      const problems = await problemsNow().catch((error: unknown) => [`gateway: ${(error as Error).message}`]);
      if (problems.length === 0) return;
      if (this.#stopping) throw new Error('stopped while starting');
      if (Date.now() >= deadline) throw new Error(`not ready within ${withinMs / 1000} s:\n  ${problems.join('\n  ')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #save(state: State): void {
    this.#state = state;
    this.#options.home.saveState(state);
  }

  /** What was started and must be ended when this process no longer can. */
  #running(): RecordedProcess[] {
    const servers = [this.#nats, this.#postgres].flatMap((server) => (server ? [server.current.process.recorded] : []));
    const known = new Set(servers.map(({ pid }) => pid));
    // Postgres's own children end with it.
    const others = descendants(process.pid).filter(({ pid, name }) => !known.has(pid) && name !== 'postgres');
    return [...servers, ...others];
  }

  #record(): void {
    const state = this.#state;
    if (!state || this.#stopping) return;
    const processes = this.#running();
    if (JSON.stringify(processes) !== JSON.stringify(state.processes)) this.#save({ ...state, processes });
  }

  #keep<T extends NatsServer | PostgresServer>(name: string, start: () => Promise<T>): Promise<KeptServer<T>> {
    return KeptServer.start({ name, start, log: this.#log, onRestart: () => this.#record(), onGivenUp: (error) => this.#fatal(error) });
  }

  #fatal(error: Error): void {
    if (this.#stopping) return;
    this.#ended = error.message;
    this.#log.fatal({ err: error }, 'cannot go on');
    this.#options.onFatal(error);
  }
}

/** Waits for all, so that what did start is known before a failure is thrown. */
async function settle<A, B>(work: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
