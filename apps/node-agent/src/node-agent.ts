import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { nodeNetworkAnnotations, volumesFolderAnnotation } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { FollowedNetwork } from '@roundsman/network';
import { DockerPodRuntime, ProcessRuntime, type ContainerRuntime, type PodRuntime } from '@roundsman/containers';
import type { ServiceContext } from '@roundsman/service';
import { Gauge } from 'prom-client';
import { absentRuntime } from './containers/absent-runtime.ts';
import { MachineHosts } from './dns/machine-hosts/machine-hosts.ts';
import { NodeDns } from './dns/node-dns.ts';
import { KeptProcess } from './kept/kept-process.ts';
import { NodeIngress } from './kept/node-ingress.ts';
import { keptRunner } from './kept/runner-spec.ts';
import { StandIn } from './kept/stand-in.ts';
import { capacityOf, machineConditions, nodeInfo } from './machine.ts';
import { isLoopback } from './network/addresses/loopback.ts';
import { NetworkHost } from './network/network-host.ts';
import { PodHost } from './pods/pod-host.ts';
import { NodeForwarding } from './services/node-forwarding.ts';
import { volumesFolderOf, type Settings } from './settings.ts';

const beatEveryMs = 2_000;
const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;

const noDocker = 'no Docker daemon is set for this node (ROUNDSMAN_NODE_AGENT_DOCKER): it runs no containers';

/** The agent of one node: says that the node is there and what it has, keeps its runner running, and runs its pods. */
export class NodeAgent {
  readonly #context: ServiceContext<Settings>;
  readonly #runtime: ContainerRuntime;
  readonly #runner: KeptProcess | StandIn | undefined;
  readonly #podRuntime: PodRuntime;
  readonly #followed: FollowedNetwork;
  #network: NetworkHost | undefined;
  #dns: NodeDns | undefined;
  #hosts: MachineHosts | undefined;
  #ingress: NodeIngress | undefined;
  #forwarding: NodeForwarding | undefined;
  #pods: PodHost | undefined;
  #capacity: Record<string, string> = {};
  /** Changes with every start. */
  readonly #instance = randomUUID();
  #info: Record<string, string> = {};
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(context: ServiceContext<Settings>, runtime: ContainerRuntime = new ProcessRuntime(join(context.config.dataDir, 'containers'))) {
    this.#context = context;
    this.#runtime = runtime;
    const { docker, cluster, node } = context.config;
    this.#followed = new FollowedNetwork(context.bus, context.log);
    this.#runner = this.#runnerOf(runtime);
    this.#podRuntime = docker === '' ? absentRuntime(noDocker) : new DockerPodRuntime({ socketPath: docker, cluster, node });
  }

  async onApplicationBootstrap(): Promise<void> {
    const { config, health, metrics } = this.#context;
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
    this.#info = await nodeInfo(config.node, this.#runtime.version, version);
    health.add({ name: 'node-agent/runner', problem: () => this.#runner?.problem() });
    health.add({ name: 'node-agent/ingress', problem: () => this.#ingress?.problem() });
    const gauge: Gauge = new Gauge({
      name: 'roundsman_node_agent_runner_restarts',
      help: 'Restarts of the runner since the agent started it',
      registers: [metrics],
      collect: () => gauge.set(this.#runner?.restarts ?? 0),
    });
    this.#capacity = await capacityOf(config);
    this.#network = await NetworkHost.of({ config, runtime: this.#podRuntime, state: this.#followed.state, log: this.#context.log });
    this.#pods = new PodHost(this.#context, this.#podRuntime, this.#network.node, this.#followed.state, this.#capacity);
    this.#dns = this.#dnsOf(this.#network);
    this.#hosts = this.#hostsOf(this.#network);
    this.#hosts?.start();
    this.#ingress = this.#ingressOf(this.#network);
    this.#forwarding = this.#forwardingOf(this.#network);
    this.#forwarding?.start();
    await this.#network.start();
    await Promise.all([this.#runner?.start(), this.#pods.start(), this.#dns?.start(), this.#ingress?.start(), this.#followed.start()]);
    this.#beat();
    this.#timer = setInterval(() => this.#beat(), beatEveryMs);
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    const { health, config } = this.#context;
    for (const name of ['runner', 'ingress']) health.remove(`node-agent/${name}`);
    await this.#followed.stop();
    await Promise.all([this.#network?.stop(), this.#forwarding?.stop()]);
    await Promise.all([this.#runner?.stop(config.stopRunner), this.#ingress?.stop(config.stopRunner), this.#pods?.stop(), this.#dns?.stop(), this.#hosts?.stop()]);
    await this.#runtime.release();
  }

  #runnerOf(runtime: ContainerRuntime): KeptProcess | StandIn | undefined {
    const { config, log } = this.#context;
    const kept = keptRunner(config);
    if (kept === undefined) return undefined;
    const runner = new KeptProcess(kept, runtime, log);
    return config.runnerStandsIn ? new StandIn({ runner, state: this.#followed.state, log }) : runner;
  }

  /** Pods ask it; a node that runs none needs none. */
  #dnsOf({ node }: NetworkHost): NodeDns | undefined {
    const { config, log, metrics } = this.#context;
    if (config.docker === '') return undefined;
    return new NodeDns({ state: this.#followed.state, addresses: reachable(node), port: config.dnsPort, upstreams: config.dnsUpstreams, ttlSeconds: config.dnsTtlSeconds, dataDir: config.dataDir, log, metrics });
  }

  /** Without containers a node has nothing behind Services. */
  #forwardingOf({ node }: NetworkHost): NodeForwarding | undefined {
    const { config, log } = this.#context;
    if (config.docker === '') return undefined;
    const { cluster, machine, serviceProxy, dataDir } = config;
    const forwarding = new NodeForwarding({ cluster, node: config.node, mode: serviceProxy, state: this.#followed.state, network: node.mode, place: () => node.place, onPlace: (listener) => node.onReady(listener), machine: machine || node.mode === 'machine', folder: dataDir, log });
    node.publishBy(forwarding.hostPorts);
    return forwarding;
  }

  /** Without containers there is nothing to let in to. */
  #ingressOf({ node }: NetworkHost): NodeIngress | undefined {
    const { config, log } = this.#context;
    return config.docker === '' || config.ingressEntry === '' ? undefined : new NodeIngress({ config, runtime: this.#runtime, addresses: reachable(node), log });
  }

  /** `10.0.0.1:4222`, for each address of the machine; undefined where NATS is elsewhere. */
  #natsEndpoint(): string | undefined {
    const { natsEndpointPort } = this.#context.config;
    if (natsEndpointPort === undefined || this.#network === undefined) return undefined;
    return reachable(this.#network.node).map((address) => `${isIPv6(address) ? `[${address}]` : address}:${natsEndpointPort}`).join(',') || undefined;
  }

  /** One agent writes for all nodes of the machine. */
  #hostsOf({ node }: NetworkHost): MachineHosts | undefined {
    const { config, log } = this.#context;
    if (config.hostsFile === '' || !(config.machine || node.mode === 'machine')) return undefined;
    return new MachineHosts({ file: config.hostsFile, cluster: config.cluster, state: this.#followed.state, log });
  }

  #beat(): void {
    this.#beating = this.#sendBeat().catch((error: unknown) => this.#context.log.error({ err: error }, 'heartbeat not sent'));
  }

  async #sendBeat(): Promise<void> {
    const { config, bus } = this.#context;
    // Before all else: what is told was so when it is sent.
    const conditions = await machineConditions(config.dataDir);
    const pods = this.#pods?.condition();
    const network = this.#network?.condition();
    const dns = this.#dns?.condition();
    const forwarding = this.#forwarding?.condition();
    const ingress = this.#ingress?.condition();
    const answers = { [nodeNetworkAnnotations.dns]: this.#dns?.endpoint, [nodeNetworkAnnotations.ingress]: this.#ingress?.endpoint, [nodeNetworkAnnotations.nats]: this.#natsEndpoint() };
    const nodeAddresses = this.#network?.node.nodeAddresses ?? config.addresses;
    const runner = this.#runner?.condition();
    bus.publish(messages.nodeBeat, { node: config.node }, {
      node: config.node,
      instance: this.#instance,
      sentAt: new Date().toISOString(),
      addresses: [...nodeAddresses.map((address) => ({ type: 'InternalIP' as const, address })), { type: 'Hostname' as const, address: config.node }],
      capacity: this.#capacity,
      allocatable: this.#capacity,
      nodeInfo: { ...this.#info, ...(config.docker === '' ? {} : { containerRuntimeVersion: this.#podRuntime.version }) },
      labels: {
        'kubernetes.io/hostname': config.node,
        'kubernetes.io/os': this.#info['operatingSystem'] ?? '',
        'kubernetes.io/arch': this.#info['architecture'] ?? '',
        ...config.labels,
      },
      annotations: { ...(config.docker === '' ? {} : { [volumesFolderAnnotation]: volumesFolderOf(config) }), ...this.#network?.node.annotations, ...this.#forwarding?.annotations(), ...Object.fromEntries(Object.entries(answers).filter((entry): entry is [string, string] => entry[1] !== undefined)) },
      conditions: [
        ...conditions,
        ...(runner === undefined ? [] : [runner]),
        ...(pods === undefined ? [] : [pods]),
        ...(network === undefined ? [] : [network]),
        ...(forwarding === undefined ? [] : [forwarding]),
        ...(dns === undefined ? [] : [dns]),
        ...(ingress === undefined ? [] : [ingress]),
        { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'the node agent is well' },
      ],
    });
  }
}

/** Addresses of the machine for others: in pods and nodes that have a network of their own, loopback is another one. */
const reachable = ({ annotations }: NetworkHost['node']): string[] => (annotations[nodeNetworkAnnotations.machine]?.split(',') ?? []).filter((address) => !isLoopback(address));
