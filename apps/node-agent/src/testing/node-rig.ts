import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerStatus } from '@roundsman/api';
import { DockerPodRuntime } from '@roundsman/containers';
import { Health, type ServiceContext } from '@roundsman/service';
import { ownNumber, startDocker, startNats, testImages, type TestDocker, type TestImage, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { NetworkState } from '@roundsman/network';
import { dockerNetworkName } from '../network/docker-network.ts';
import { removeMachineNetwork } from '../network/machine/remove.ts';
import { NetworkHost } from '../network/network-host.ts';
import { NodeForwarding } from '../services/node-forwarding.ts';
import { removeForwarding } from '../services/remove-forwarding.ts';
import { PodHost } from '../pods/pod-host.ts';
import { unmountBelow } from '../volumes/mounts.ts';
import { settingsSchema, type Settings } from '../settings.ts';
import { networkStateOf } from './memory-network.ts';
import { FakeIntake } from './fake-intake.ts';

export const allocatable = { cpu: '4', memory: '4Gi', pods: '110', 'ephemeral-storage': '10Gi' };

export interface RigOptions {
  readonly liveRestore?: boolean;
  readonly images?: readonly TestImage[];
  readonly prefix?: number;
  readonly dualStack?: boolean;
}

/** One node on a real Docker daemon and a real NATS server, without the rest of the agent. */
export class NodeRig {
  readonly node = 'node-1';
  readonly cluster = `test-${randomUUID().slice(0, 8)}`;
  /** Of its pods: apart from those that daemons, machines and clusters of tests have. */
  readonly ranges: readonly string[];
  private constructor(
    readonly nats: TestNats,
    readonly docker: TestDocker,
    readonly folder: string,
    readonly intake: FakeIntake,
    /** Prefix of the range of pods, and whether there is one of IPv6 beside it. */
    { prefix = 24, dualStack = false }: Pick<RigOptions, 'prefix' | 'dualStack'>,
  ) {
    const [second, third] = [ownNumber(88, 100), Math.floor(Math.random() * 256)];
    this.ranges = [`10.${second}.${third}.0/${prefix}`, ...(dualStack ? [`fd00:${second}:${third}::/64`] : [])];
  }
  #host: PodHost | undefined;
  #network: NetworkHost | undefined;
  #forwarding: NodeForwarding | undefined;
  #state = new NetworkState();
  #runtime: DockerPodRuntime | undefined;

  static async start(options: RigOptions = {}): Promise<NodeRig> {
    const [nats, docker, folder] = await Promise.all([startNats(), startDocker({ liveRestore: options.liveRestore ?? false }), mkdtemp(join(tmpdir(), 'roundsman-node-'))]);
    await testImages(docker, options.images);
    const intake = new FakeIntake(await nats.connect('intake'), 'node-1');
    await intake.start();
    return new NodeRig(nats, docker, folder, intake, options);
  }

  get host(): PodHost {
    if (this.#host === undefined) throw new Error('no agent runs');
    return this.#host;
  }

  /** The daemon as the agent sees it, for those who look from outside. */
  get runtime(): DockerPodRuntime {
    this.#runtime ??= this.#newRuntime();
    return this.#runtime;
  }

  #newRuntime(): DockerPodRuntime {
    return new DockerPodRuntime({ socketPath: this.docker.socket, cluster: this.cluster, node: this.node });
  }

  /** Starts the agent's part that runs pods, as after a start of the agent. `untold`: it does not know the network of the cluster until `tell`. */
  async up(settings: Record<string, string> = {}, { untold = false }: { untold?: boolean } = {}): Promise<void> {
    const config: Settings = settingsSchema.parse({ node: this.node, dataDir: this.folder, docker: this.docker.socket, cluster: this.cluster, addresses: this.docker.gateway, ...settings });
    const level = process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent';
    const context = { config, bus: await this.nats.connect(`agent-${this.node}`), databaseUrl: undefined, log: pino({ level }), metrics: new Registry(), health: new Health() } as unknown as ServiceContext<Settings>;
    const runtime = this.#newRuntime();
    this.#state = new NetworkState();
    const state = this.#state;
    this.#network = await NetworkHost.of({ config, runtime, state, log: context.log });
    this.#host = new PodHost(context, runtime, this.#network.node, state, allocatable);
    const { node } = this.#network;
    this.#forwarding = new NodeForwarding({ cluster: this.cluster, node: this.node, mode: 'auto', state, network: node.mode, place: () => node.place, onPlace: (listener) => node.onReady(listener), machine: node.mode === 'machine', folder: this.folder, log: context.log });
    node.publishBy(this.#forwarding.hostPorts);
    this.#forwarding.start();
    await this.#network.start();
    await this.#host.start();
    if (!untold) this.tell();
  }

  /** As intake does a moment after the start of an agent. */
  tell(): void {
    networkStateOf(this.ranges, this.node, this.#state);
  }

  /** Its pods go on. */
  async down(): Promise<void> {
    await Promise.all([this.#network?.stop(), this.#forwarding?.stop()]);
    await this.#host?.stop();
    this.#host = undefined;
  }

  /** Of a container of a pod, as told. */
  container(pod: string, name: string): ContainerStatus | undefined {
    const { initContainerStatuses = [], containerStatuses = [] } = this.intake.status(pod);
    return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
  }

  async stop(): Promise<void> {
    await this.down();
    await this.runtime.removeNetwork(dockerNetworkName(this.cluster)).catch(() => undefined);
    await this.#runtime?.close();
    await this.docker.stop();
    await removeForwarding(this.cluster, [this.folder]);
    await removeMachineNetwork(this.cluster);
    await this.nats.stop();
    await unmountBelow(this.folder);
    await rm(this.folder, { recursive: true, force: true });
  }
}
