import { nodeNetworkAnnotations, type Pod } from '@roundsman/api';
import type { Owner, PodOnRuntime, PodRuntime, Sandbox, SandboxNetwork } from '@roundsman/containers';
import type { NetworkState } from '@roundsman/network';
import { AddressPool } from './addresses/address-pool.ts';
import { tagOf } from './kernel/links.ts';
import type { NodeNetwork } from './node-network.ts';
import { Readiness } from './readiness.ts';

export const dockerNetworkName = (cluster: string): string => `roundsman-${tagOf(cluster)}`;

export interface DockerNetworkOptions {
  readonly owner: Owner;
  readonly runtime: PodRuntime;
  readonly state: NetworkState;
  readonly machineAddresses: readonly string[];
}

export const unknownYet = 'the cluster has not told the addresses of this node yet';

/** Why a node has no addresses for pods. */
export function noRange(state: NetworkState, node: string): string | undefined {
  if (state.network === undefined) return unknownYet;
  return (state.node(node)?.podCIDRs ?? []).length === 0 ? `node ${node} has no pod CIDR yet` : undefined;
}

/** Pods on a network of Docker's that the nodes of this machine share, with addresses of their node's range. Docker connects them and publishes their ports. */
export class DockerNetwork implements NodeNetwork {
  readonly mode = 'docker';
  /** Only the daemon enters it. */
  readonly place = undefined;
  readonly #options: DockerNetworkOptions;
  readonly #pool = new AddressPool();
  readonly #before = new Map<string, readonly string[]>();
  readonly #ready = new Readiness(unknownYet);
  #end: () => void = () => undefined;

  constructor(options: DockerNetworkOptions) {
    this.#options = options;
  }

  get nodeAddresses(): readonly string[] {
    return this.#options.machineAddresses;
  }
  get annotations(): Readonly<Record<string, string>> {
    const { machineAddresses } = this.#options;
    return { [nodeNetworkAnnotations.mode]: 'docker', ...(machineAddresses.length === 0 ? {} : { [nodeNetworkAnnotations.machine]: machineAddresses.join(',') }) };
  }

  /** A program that is not root can answer neither on the port of DNS nor on addresses that the machine does not have. */
  get lacksClusterDns(): string | undefined {
    return process.getuid?.() === 0 ? undefined : 'the agent of the node is not root, which the address of the cluster’s DNS takes';
  }

  /** Docker does. */
  publishBy(): void {}

  problem(): string | undefined {
    return this.#ready.problem;
  }
  onReady(listener: () => void): () => void {
    return this.#ready.onReady(listener);
  }

  start(): Promise<void> {
    const { state, owner } = this.#options;
    const look = (): void => {
      const ranges = state.node(owner.node)?.podCIDRs ?? [];
      this.#ready.set(noRange(state, owner.node), { renewed: ranges.length > 0 && this.#pool.use(ranges) });
    };
    this.#end = state.onChange(look);
    look();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#end();
    return Promise.resolve();
  }

  adopt(pods: readonly PodOnRuntime[]): Promise<void> {
    for (const { podUid, sandbox } of pods) {
      if (sandbox?.network?.kind !== 'docker') continue;
      if (!sandbox.running || !this.#pool.claim(podUid, sandbox.addresses)) this.#before.set(podUid, sandbox.addresses);
    }
    return Promise.resolve();
  }

  fits(pod: Pod, { podUid, network, addresses }: Sandbox): boolean {
    if (pod.spec.hostNetwork === true) return network?.kind === 'host';
    return network?.kind === 'docker' && network.network === dockerNetworkName(this.#options.owner.cluster) && this.#pool.keeps(podUid, addresses);
  }

  async plan(pod: Pod): Promise<SandboxNetwork> {
    if (pod.spec.hostNetwork === true) return { kind: 'host' };
    await this.#ready.wait();
    const { state, owner, runtime } = this.#options;
    const name = dockerNetworkName(owner.cluster);
    await runtime.ensureNetwork(name, state.network?.podCidrs ?? []);
    const { uid } = pod.metadata;
    const addresses = this.#pool.take(uid, this.#before.get(uid));
    this.#before.delete(uid);
    return { kind: 'docker', network: name, addresses };
  }

  connect(pod: Pod, { addresses }: Sandbox): Promise<readonly string[]> {
    return Promise.resolve(pod.spec.hostNetwork === true ? this.nodeAddresses : addresses);
  }

  release(podUid: string): Promise<void> {
    this.#before.delete(podUid);
    this.#pool.release(podUid);
    return Promise.resolve();
  }
}
