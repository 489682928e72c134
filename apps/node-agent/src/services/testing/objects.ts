import type { ClusterNetwork, Endpoint, EndpointSlice, Service, ServiceSpec } from '@roundsman/api';
import { NetworkState } from '@roundsman/network';

export const clusterNetwork: ClusterNetwork = {
  podCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
  nodePrefixes: [24, 64],
  serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
  loadBalancerCidrs: ['198.51.100.0/24'],
  nodePorts: { first: 30000, last: 32767 },
  domain: 'cluster.local',
  dnsAddresses: ['10.96.0.10'],
  backend: 'host-gw',
};

export const slicesResource = 'endpointslices.discovery.k8s.io';

/** Knows the addresses of its cluster, and nothing else yet. */
export function emptyState(network: ClusterNetwork = clusterNetwork): NetworkState {
  const state = new NetworkState();
  state.replace(network, []);
  return state;
}

let version = 1;
const meta = (name: string, labels?: Record<string, string>): Service['metadata'] =>
  ({ namespace: 'default', name, uid: name, resourceVersion: String(version++), ...(labels === undefined ? {} : { labels }) }) as Service['metadata'];

export function service(name: string, spec: Partial<ServiceSpec>, balancers: readonly string[] = []): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta(name),
    spec: { type: 'ClusterIP', sessionAffinity: 'None', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }], ...spec },
    status: { loadBalancer: { ingress: balancers.map((ip) => ({ ip })) } },
  };
}

export function slice(of: string, endpoints: readonly Endpoint[], more: Partial<Pick<EndpointSlice, 'addressType' | 'ports'>> & { readonly name?: string } = {}): EndpointSlice {
  const { name = `${of}-1`, addressType = 'IPv4', ports = [{ name: '', protocol: 'TCP', port: 8080 }] } = more;
  return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: meta(name, { 'kubernetes.io/service-name': of }), addressType, endpoints: [...endpoints], ports } as EndpointSlice;
}

export const endpoint = (address: string, nodeName: string, conditions: Endpoint['conditions'] = {}): Endpoint => ({ addresses: [address], nodeName, conditions });
