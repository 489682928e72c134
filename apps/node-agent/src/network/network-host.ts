import { networkInterfaces } from 'node:os';
import type { Owner, PodRuntime } from '@roundsman/containers';
import type { NetworkState } from '@roundsman/network';
import type { Logger } from 'pino';
import type { NodeCondition } from '../machine.ts';
import type { Settings } from '../settings.ts';
import { machineAddresses } from './addresses/machine-addresses.ts';
import { chooseNetwork, type NetworkChoice } from './choice.ts';
import { DockerNetwork } from './docker-network.ts';
import { MachineNetwork } from './machine/machine-network.ts';
import type { NodeNetwork } from './node-network.ts';
import { MachinePlace } from './place/machine-place.ts';
import { NamespacePlace } from './place/namespace-place.ts';
import { WiredNetwork } from './wired-network.ts';

export interface NetworkHostOptions {
  readonly config: Pick<Settings, 'network' | 'machine' | 'docker' | 'cluster' | 'node' | 'addresses'>;
  readonly runtime: PodRuntime;
  readonly state: NetworkState;
  readonly log: Logger;
}

const isOwn = (address: string): boolean => Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address));

/** The network of one node, and of its machine where this agent looks after it: composed by what the node may do. */
export class NetworkHost {
  readonly node: NodeNetwork;
  /** Undefined: another agent looks after the machine, or nobody has to. */
  readonly machine: MachineNetwork | undefined;
  readonly #choice: NetworkChoice;
  readonly #hasPods: boolean;

  private constructor(node: NodeNetwork, machine: MachineNetwork | undefined, choice: NetworkChoice, hasPods: boolean) {
    this.node = node;
    this.machine = machine;
    this.#choice = choice;
    this.#hasPods = hasPods;
  }

  static async of({ config, runtime, state, log }: NetworkHostOptions): Promise<NetworkHost> {
    const owner: Owner = { cluster: config.cluster, node: config.node };
    // A node that runs no containers needs no network for them.
    if (config.docker === '') return new NetworkHost(new DockerNetwork({ owner, runtime, state, machineAddresses: config.addresses }), undefined, { mode: 'docker' }, false);
    const choice = chooseNetwork(config.network);
    const { mode, lacking } = choice;
    const found = await machineAddresses(config.addresses);
    if (mode === 'docker') return new NetworkHost(new DockerNetwork({ owner, runtime, state, machineAddresses: found.length > 0 ? found : config.addresses }), undefined, choice, true);
    const place = mode === 'machine' ? new MachinePlace(runtime, owner) : new NamespacePlace(runtime, owner, found.filter(isOwn));
    const node = new WiredNetwork({ mode, owner, runtime, state, place, machineAddresses: found, lacking, log });
    const machine = (config.machine || mode === 'machine') && lacking === undefined ? new MachineNetwork({ owner, state, machineAddresses: found, log }) : undefined;
    return new NetworkHost(node, machine, choice, true);
  }

  async start(): Promise<void> {
    await this.node.start();
    this.machine?.start();
  }

  /** Everything stays as it is. */
  async stop(): Promise<void> {
    await Promise.all([this.node.stop(), this.machine?.stop()]);
  }

  /** As cloud providers and network plugins tell it. */
  condition(): NodeCondition | undefined {
    if (!this.#hasPods) return undefined;
    const problem = this.node.problem();
    if (problem !== undefined) return { type: 'NetworkUnavailable', status: 'True', reason: 'NoRouteCreated', message: problem };
    const { mode, because } = this.#choice;
    const words = { machine: 'pods are wired to the network of the machine', namespace: 'pods are wired to a network namespace of the node', docker: 'pods are on a network of Docker' }[mode];
    const more = [because, this.machine?.problem()].filter((text) => text !== undefined);
    return { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated', message: [words, ...more].join('; ') };
  }
}
