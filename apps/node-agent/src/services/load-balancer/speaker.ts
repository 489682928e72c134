import { createHash } from 'node:crypto';
import type { Service } from '@roundsman/api';
import type { NetworkNode, NetworkState } from '@roundsman/network';

/** Addresses of load balancers and the node that answers for each: one that is Ready, the same for whoever asks, another one only when it is lost. Pure. */
export function speakers(state: Pick<NetworkState, 'services' | 'slicesOf' | 'nodes'>): ReadonlyMap<string, string> {
  const ready = state.nodes().filter((node) => node.ready);
  const chosen = new Map<string, string>();
  for (const service of state.services()) {
    if (service.spec.type !== 'LoadBalancer' || service.metadata.deletionTimestamp !== undefined) continue;
    const withEndpoints = service.spec.externalTrafficPolicy === 'Local' ? ready.filter(({ name }) => hasEndpoint(state, service, name)) : [];
    for (const { ip } of service.status?.loadBalancer.ingress ?? []) {
      const node = ip === undefined ? undefined : highest(ip, withEndpoints.length > 0 ? withEndpoints : ready);
      if (ip !== undefined && node !== undefined && !chosen.has(ip)) chosen.set(ip, node.name);
    }
  }
  return chosen;
}

/** Rendezvous hashing: when a node goes only its own addresses move. */
function highest(address: string, nodes: readonly NetworkNode[]): NetworkNode | undefined {
  const weights = nodes.map((node) => ({ node, weight: createHash('sha256').update(`${address} ${node.name}`).digest('hex') }));
  return weights.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.node;
}

const hasEndpoint = (state: Pick<NetworkState, 'slicesOf'>, { metadata }: Service, node: string): boolean =>
  state.slicesOf(metadata.namespace ?? '', metadata.name).some(({ endpoints }) => endpoints.some(({ nodeName, conditions }) => nodeName === node && conditions.ready !== false));
