import 'reflect-metadata';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { agentIdentity, connectBus, ingressIdentity, loadSeed, runnerIdentity, type Bus } from '@roundsman/bus';
import { ingressEntry } from '@roundsman/ingress';
import { runnerEntry, runnerNodeFlags } from '@roundsman/probe-runner';
import { refuseUnknownSettings, runServices, type RunningServices } from '@roundsman/service';
import type { Logger } from 'pino';
import { dockerNotice, dockerState, findDocker, type Docker } from '../docker.ts';
import type { Home, State } from '../home.ts';
import { logTo } from '../log.ts';
import { agentNetworkEnv } from '../network/home-network.ts';
import { seedFileOf } from '../nats-server.ts';
import { runnerOf } from '../nodes.ts';
import { descendants, record } from '../processes.ts';
import { bringRunnerImage, type RunnerImage } from '../runners/image.ts';
import { imagesEnv } from '../runners/settings.ts';
import { loadServices, serviceNames } from '../services.ts';
import type { Supervised } from '../stay.ts';
import { policyEnv } from '../target-policy.ts';
import { UserError } from '../user-error.ts';
import { version } from '../version.ts';
import { authorityFile, type Membership } from './membership.ts';

export interface MemberOptions {
  readonly home: Home;
  readonly membership: Membership;
  /** Socket or `off`; not given: where Docker usually is. */
  readonly docker: string | undefined;
  readonly say: (text: string) => void;
  readonly onFatal: (error: Error) => void;
}

const answerWithinMs = 10_000;

/** This machine as one node of a cluster elsewhere: an agent, its runner, its pods. */
export class Member implements Supervised {
  readonly #options: MemberOptions;
  readonly log: Logger;
  #state: State | undefined;
  #services: RunningServices | undefined;
  #recorder: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.log = logTo(options.home);
  }

  async start(): Promise<State> {
    const { home, membership, say, onFatal } = this.#options;
    refuseUnknownSettings([...serviceNames, 'runner'], process.env);
    const startedAt = new Date().toISOString();
    const docker = await findDocker(this.#options.docker, home.state()?.docker);
    const notice = dockerNotice(docker, this.#options.docker, ' here');
    if (notice !== undefined) say(notice);
    say(`Connecting to ${membership.nats} ...`);
    const address = await ownAddress(membership.nats);
    const { node } = membership;
    this.#save({
      version, phase: 'starting', startedAt, nodes: [node], memberOf: membership.at, gateway: '', nats: membership.nats, postgres: '', grafana: '', ports: {}, postgresData: '',
      ...dockerState(docker),
      supervisor: record('supervisor', process.pid)!,
      processes: [],
    });
    const [definitions, image] = await Promise.all([loadServices(['node-agent']), this.#image(docker)]);
    const identity = agentIdentity(node);
    const { seed } = await loadSeed(seedFileOf(home, identity));
    const ingressSeed = seedFileOf(home, ingressIdentity(node));
    const ca = readFileSync(authorityFile(home), 'utf8');
    const connectAgent = (name: string, log: Logger): Promise<Bus> => connectBus({ servers: membership.nats, identity: name, seed, ca, log, onFatal });
    this.#services = await runServices(
      definitions.map((definition) => ({
        definition,
        identity: identity.name,
        env: {
          ROUNDSMAN_NODE_AGENT_NODE: node,
          ROUNDSMAN_NODE_AGENT_ADDRESSES: process.env['ROUNDSMAN_NODE_AGENT_ADDRESSES'] || address,
          ROUNDSMAN_NODE_AGENT_DATA_DIR: home.file('data', 'runners', node),
          ROUNDSMAN_NODE_AGENT_NATS_URL: membership.nats,
          ROUNDSMAN_NODE_AGENT_NATS_CA_FILE: authorityFile(home),
          ROUNDSMAN_NODE_AGENT_DOCKER: 'socket' in docker ? docker.socket : '',
          ROUNDSMAN_NODE_AGENT_CLUSTER: membership.cluster,
          ...agentNetworkEnv('machine', true, process.env),
          ...(image === undefined ? {} : { ...imagesEnv(image), ROUNDSMAN_NODE_AGENT_RUNNER_STANDS_IN: 'true' }),
          ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY: runnerEntry,
          ROUNDSMAN_NODE_AGENT_RUNNER_FLAGS: runnerNodeFlags.join(','),
          ROUNDSMAN_NODE_AGENT_RUNNER_NAME: runnerOf(node),
          ROUNDSMAN_NODE_AGENT_RUNNER_SEED_FILE: seedFileOf(home, runnerIdentity(runnerOf(node), node)),
          // A machine that joined before there were ingress proxies has one once it joins again, with a token.
          ...(existsSync(ingressSeed) ? { ROUNDSMAN_NODE_AGENT_INGRESS_ENTRY: ingressEntry, ROUNDSMAN_NODE_AGENT_INGRESS_SEED_FILE: ingressSeed } : {}),
          ...policyEnv(process.env, membership.denyEndpoints)['node-agent'],
        },
      })),
      { env: process.env, log: this.log, connect: connectAgent },
    ).catch((error: unknown) => {
      if (!/authorization violation/i.test((error as Error).message)) throw error;
      throw new UserError(`the cluster at ${membership.at} no longer lets this machine (node ${node}) in: it was taken out`, 'To join anew: npx roundsman down --purge here, then the command that npx roundsman token prints on the cluster.', { cause: error });
    });
    this.#recorder = setInterval(() => this.#record(), 10_000);
    this.#record();
    this.#save({ ...this.#state!, phase: 'ready', readyAt: new Date().toISOString() });
    this.log.info({ cluster: membership.at, node, address }, 'ready');
    return this.#state!;
  }

  /** The cluster's runner here is a pod where Docker and the image are; its own Runner process stands in where the cluster has none in pods. */
  async #image(docker: Docker): Promise<RunnerImage | undefined> {
    if ('missing' in docker) return undefined;
    return bringRunnerImage(this.#options.home).catch((error: unknown) => {
      this.#options.say(`The image of runners cannot be made here, so they are not there as pods: ${(error as Error).message}`);
      return undefined;
    });
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    clearInterval(this.#recorder);
    await this.#services?.stop();
    if (this.#state) this.#save({ ...this.#state, phase: 'stopped', processes: [] });
  }

  #record(): void {
    if (this.#state && !this.#stopping) this.#save({ ...this.#state, processes: descendants(process.pid) });
  }

  #save(state: State): void {
    this.#state = state;
    this.#options.home.saveState(state);
  }
}

/** The address of this machine from which the cluster is reached: what the others can reach it by. Rejects when nobody answers there. */
function ownAddress(natsUrl: string): Promise<string> {
  const { hostname, port } = new URL(natsUrl.replace(/^nats:/, 'http:'));
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: answerWithinMs }, () => {
      const { localAddress } = socket;
      socket.destroy();
      resolve(localAddress!);
    });
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${answerWithinMs / 1000} s`)));
    socket.once('error', (error) => reject(new Error(`the cluster's NATS does not answer at ${natsUrl}: ${error.message}`, { cause: error })));
  });
}
