import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { serverCertificate, type ServerCertificate } from '@roundsman/gateway';
import { connectBus, ingressIdentity, messages, runnerIdentity } from '@roundsman/bus';
import { ingressEntry } from '@roundsman/ingress';
import { runnerEntry, runnerNodeFlags } from '@roundsman/probe-runner';
import { refuseUnknownSettings, runServices, type RunningServices, type ServiceDefinition, type ServiceRun } from '@roundsman/service';
import type { Logger } from 'pino';
import { writeAccess } from './access.ts';
import { dockerNotice, findDocker } from './docker.ts';
import { clusterProblems, forgetPods, GatewayClient, removeNode } from './gateway-client.ts';
import type { Home, State } from './home.ts';
import { JoinServer } from './join/join-server.ts';
import { KeptServer } from './kept-server.ts';
import { logTo } from './log.ts';
import { agentNetworkEnv, intakeNetworkEnv, networkModeFor, networkOf } from './network/home-network.ts';
import type { NetworkChoice } from './network/ranges.ts';
import { bringNats, type NatsBinary } from './nats-binary.ts';
import { identities, seedFileOf, startNats, type NatsServer } from './nats-server.ts';
import { nodeNames, runnerOf } from './nodes.ts';
import { endPods } from './pods.ts';
import { choosePorts } from './ports.ts';
import { startPostgres, type PostgresServer } from './postgres-server.ts';
import { descendants, record } from './processes.ts';
import { controlPlane, loadServices, serviceNames } from './services.ts';
import type { Supervised } from './stay.ts';
import { policyEnv } from './target-policy.ts';
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

  /** Resolves when the gateway is ready and so are all nodes and runners. On failure stops what was started and rejects. */
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
      ...('socket' in docker ? { docker: docker.socket } : {}),
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

    const network = await this.#network(this.#options.listen);
    say('Starting NATS and Postgres ...');
    const loading = loadServices([...controlPlane, 'node-agent']);
    // Awaited below; until then a failure here must not look like an unhandled one.
    loading.catch(() => undefined);
    const credentials = await identities(home, nodes);
    const seeds = new Map(credentials.map(({ name, seed }) => [name, seed]));
    let binary: NatsBinary | undefined;
    const [nats, postgres] = await settle([
      this.#keep('NATS', () => startNats({ home, binary: (binary ??= bringNats(say)), port: ports['nats']!, monitorPort: ports['natsMonitor']!, identities: credentials, tls: network?.tls })).then((kept) => (this.#nats = kept).current),
      this.#keep('Postgres', () => startPostgres({ home, port: ports['postgres']!, secrets })).then((kept) => (this.#postgres = kept).current),
    ]);
    this.#save({ ...this.#state!, postgres: postgres.url, grafana: postgres.grafanaUrl, postgresData: postgres.dataFolder, processes: [nats.process.recorded, postgres.process.recorded] });

    say('Starting the services ...');
    const definitions = await loading;
    // Listening before any runner starts: which processes are there now, not before.
    const instances = new Map<string, string>();
    const listener = await connectBus({ servers: nats.url, identity: 'operator', seed: seeds.get('operator')!, log: this.#log });
    await listener.subscribe(messages.runnerBeat, {}, ({ payload: { runner, instance } }) => void instances.set(runner, instance));
    this.#services = await runServices(runsOf(definitions, { home, nodes, ports, natsUrl: nats.url, listen: this.#options.listen, docker: 'socket' in docker ? docker.socket : '', network: addresses }), {
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
    await this.#whenReady(client, nodes, instances).finally(() => listener.close());
    for (const node of dropped) {
      await removeNode(client, node);
      await forgetPods(client, node);
    }
    this.#record();
    if (network !== undefined) await this.#letJoin(network, ports, nodes);
    this.#save({ ...this.#state!, phase: 'ready', readyAt: new Date().toISOString() });
    writeAccess(home, this.#state!, token);
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
    if (this.#state) this.#save({ ...this.#state, phase: 'stopped', processes: [], ...(this.#ended === undefined ? {} : { ended: this.#ended }) });
    if (problems.length > 0) throw new AggregateError(problems, problems.map(String).join('; '));
  }

  /** Who may connect has been changed in the home: NATS lets in those and nobody else. */
  async reloadMembers(): Promise<void> {
    await this.#nats?.current.reload();
  }

  async #network(address: string | undefined): Promise<{ address: string; certificate: ServerCertificate; tls: { certFile: string; keyFile: string } } | undefined> {
    if (address === undefined) return undefined;
    const folder = this.#options.home.file('keys', 'join');
    const certificate = await serverCertificate({ tlsFolder: folder }, [address]);
    if (certificate === undefined) throw new Error(`no certificate was made in ${folder}`);
    return { address, certificate, tls: { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') } };
  }

  async #letJoin({ address, certificate }: { address: string; certificate: ServerCertificate }, ports: Record<string, number>, ownNodes: readonly string[]): Promise<void> {
    const { home } = this.#options;
    this.#joining = await JoinServer.start({
      home,
      host: address,
      port: ports['join']!,
      cert: certificate.cert,
      key: certificate.key,
      ca: certificate.ca!,
      ownNodes,
      reply: { cluster: home.id, nats: `nats://${natsEndpoint(address, ports)}`, denyEndpoints: [natsEndpoint(address, ports)], version },
      admit: () => this.reloadMembers(),
      log: this.#log,
    });
    this.#save({ ...this.#state!, listen: { address, joinPort: this.#joining.port } });
  }

  async #whenReady(client: GatewayClient, nodes: readonly string[], instances: ReadonlyMap<string, string>): Promise<void> {
    const deadline = Date.now() + readyWithinMs;
    for (;;) {
      const problems = await Promise.all([client.problems(), clusterProblems(client, nodes, instances)]).then(
        (both) => both.flat(),
        (error: unknown) => [`gateway: ${(error as Error).message}`],
      );
      if (problems.length === 0) return;
      if (this.#stopping) throw new Error('stopped while starting');
      if (Date.now() > deadline) throw new Error(`not ready within ${readyWithinMs / 1000} s:\n  ${problems.join('\n  ')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #save(state: State): void {
    this.#state = state;
    this.#options.home.saveState(state);
  }

  #record(): void {
    const state = this.#state;
    if (!state || this.#stopping) return;
    const servers = [this.#nats, this.#postgres].flatMap((server) => (server ? [server.current.process.recorded] : []));
    const known = new Set(servers.map(({ pid }) => pid));
    // Postgres's own children end with it.
    const others = descendants(process.pid).filter(({ pid, name }) => !known.has(pid) && name !== 'postgres');
    const processes = [...servers, ...others];
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

const natsEndpoint = (address: string, ports: Record<string, number>): string => `${address.includes(':') ? `[${address}]` : address}:${ports['nats']}`;

/** Waits for all, so that what did start is known before a failure is thrown. */
async function settle<A, B>(work: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Settings that only the composer can know. What the person set in the environment for them stays in force elsewhere. */
function runsOf(definitions: readonly ServiceDefinition[], at: { home: Home; nodes: readonly string[]; ports: Record<string, number>; natsUrl: string; listen: string | undefined; docker: string; network: NonNullable<State['network']> }): ServiceRun[] {
  const { home, nodes, ports, natsUrl, docker, listen, network } = at;
  const own = [ports['nats'], ports['natsMonitor'], ports['postgres']].flatMap((port) => [`127.0.0.1:${port}`, `[::1]:${port}`]);
  if (listen !== undefined) own.push(natsEndpoint(listen, ports));
  const policy = policyEnv(process.env, own);
  const env: Record<string, NodeJS.ProcessEnv> = {
    intake: { ...intakeNetworkEnv(network, process.env), ...policy.intake },
    gateway: { ROUNDSMAN_GATEWAY_PORT: String(ports['gateway']), ROUNDSMAN_GATEWAY_TOKEN_FILE: home.file('token'), ROUNDSMAN_GATEWAY_TLS_FOLDER: home.file('keys', 'gateway') },
  };
  return definitions.flatMap((definition): ServiceRun[] => {
    if (definition.name !== 'node-agent') return [{ definition, env: env[definition.name] ?? {} }];
    return nodes.map((node) => ({
      definition,
      instance: node,
      identity: `agent-${node}`,
      env: {
        ROUNDSMAN_NODE_AGENT_NODE: node,
        // Others must reach its runner and its pods' host ports.
        ...(listen === undefined || process.env['ROUNDSMAN_NODE_AGENT_ADDRESSES'] ? {} : { ROUNDSMAN_NODE_AGENT_ADDRESSES: listen }),
        ROUNDSMAN_NODE_AGENT_SHARE: String(1 / nodes.length),
        ROUNDSMAN_NODE_AGENT_DATA_DIR: home.file('data', 'runners', node),
        ROUNDSMAN_NODE_AGENT_NATS_URL: natsUrl,
        ROUNDSMAN_NODE_AGENT_DOCKER: docker,
        ROUNDSMAN_NODE_AGENT_CLUSTER: home.id,
        ...agentNetworkEnv(network.mode, node === nodes[0], process.env),
        ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY: runnerEntry,
        ROUNDSMAN_NODE_AGENT_RUNNER_FLAGS: runnerNodeFlags.join(','),
        ROUNDSMAN_NODE_AGENT_RUNNER_NAME: runnerOf(node),
        ROUNDSMAN_NODE_AGENT_RUNNER_SEED_FILE: seedFileOf(home, runnerIdentity(runnerOf(node), node)),
        // One for the machine.
        ...(node === nodes[0] ? { ROUNDSMAN_NODE_AGENT_INGRESS_ENTRY: ingressEntry, ROUNDSMAN_NODE_AGENT_INGRESS_SEED_FILE: seedFileOf(home, ingressIdentity(node)) } : {}),
        ...policy['node-agent'],
      },
    }));
  });
}
