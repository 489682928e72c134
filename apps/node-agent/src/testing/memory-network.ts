import type { ClusterNetwork, Pod } from '@roundsman/api';
import type { PodOnRuntime, Sandbox, SandboxNetwork } from '@roundsman/containers';
import { NetworkState } from '@roundsman/network';
import type { PodNetwork } from '../network/pod-network.ts';
import { AddressPool } from '../network/addresses/address-pool.ts';

const clusterNetworkOf = (ranges: readonly string[]): ClusterNetwork => ({
  podCidrs: [...ranges], nodePrefixes: ranges.map((range) => Number(range.split('/')[1])), serviceCidrs: ['10.255.0.0/24'], loadBalancerCidrs: [], nodePorts: { first: 30000, last: 32767 },
  domain: 'cluster.local', dnsAddresses: ['10.255.0.10'], backend: 'host-gw',
});

/** Of a cluster of one node, as intake tells it. */
export function networkStateOf(ranges: readonly string[] = ['10.0.0.0/24'], node = 'node-1', state = new NetworkState()): NetworkState {
  state.replace(clusterNetworkOf(ranges), [{ resource: 'nodes', object: { apiVersion: 'v1', kind: 'Node', metadata: { name: node, uid: node, resourceVersion: '1' }, spec: { podCIDRs: ranges } } }]);
  return state;
}

/** Gives addresses and connects nothing. */
export class MemoryNetwork implements PodNetwork {
  readonly nodeAddresses: readonly string[] = ['127.0.0.1'];
  readonly #pool = new AddressPool();
  readonly #listeners = new Set<() => void>();

  constructor() {
    this.#pool.use(['10.0.0.0/24']);
  }

  problem(): string | undefined {
    return undefined;
  }
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  /** The node is given other ranges. */
  move(ranges: readonly string[]): void {
    this.#pool.use(ranges);
    for (const listener of this.#listeners) listener();
  }
  adopt(pods: readonly PodOnRuntime[]): Promise<void> {
    for (const { podUid, sandbox } of pods) this.#pool.claim(podUid, sandbox?.addresses ?? []);
    return Promise.resolve();
  }
  fits({ spec }: Pod, { podUid, addresses }: Sandbox): boolean {
    return spec.hostNetwork === true || this.#pool.keeps(podUid, addresses);
  }
  plan({ metadata, spec }: Pod): Promise<SandboxNetwork> {
    return Promise.resolve(spec.hostNetwork === true ? { kind: 'host' } : { kind: 'none', addresses: this.#pool.take(metadata.uid) });
  }
  connect(_pod: Pod, { addresses }: Sandbox): Promise<readonly string[]> {
    return Promise.resolve(addresses);
  }
  release(podUid: string): Promise<void> {
    this.#pool.release(podUid);
    return Promise.resolve();
  }
}
