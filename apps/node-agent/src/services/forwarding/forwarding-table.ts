import { isIP } from 'node:net';
import { parseCidr, type ClusterNetwork, type EndpointSlice, type Service, type ServicePort } from '@roundsman/api';
import { endpointsOf, type Place } from './endpoints.ts';
import type { ForwardedPort, ForwardingTable, HealthCheck } from './table.ts';

/** What of the network's state decides how Services are forwarded. */
export interface ForwardingState {
  readonly network: ClusterNetwork | undefined;
  services(): readonly Service[];
  node(name: string): { readonly podCIDRs: readonly string[]; readonly zone?: string } | undefined;
  slicesOf(namespace: string, service: string): readonly EndpointSlice[];
}

/** `localNodes`: the nodes whose endpoints are local where the table is used: one node's own, or all of a machine. Pure. */
export function forwardingTable(state: ForwardingState, localNodes: ReadonlySet<string>): ForwardingTable {
  const here = { isLocal: (node: string): boolean => localNodes.has(node), zone: zoneOf(state, localNodes) };
  const ports: ForwardedPort[] = [];
  const healthChecks: HealthCheck[] = [];
  const sorted = state.services().filter(isForwarded).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const service of sorted) {
    const { namespace = '', name } = service.metadata;
    const slices = state.slicesOf(namespace, name);
    const own = portsOf(service, slices, here);
    ports.push(...own);
    const { healthCheckNodePort } = service.spec;
    if (healthCheckNodePort !== undefined && isExternalLocal(service)) healthChecks.push({ namespace, name, port: healthCheckNodePort, localEndpoints: localCount(own) });
  }
  const { podCidrs = [], serviceCidrs = [], loadBalancerCidrs = [] } = state.network ?? {};
  const localPodCidrs = [...new Set([...localNodes].flatMap((node) => state.node(node)?.podCIDRs ?? []))].sort();
  return { podCidrs, localPodCidrs, clusterIpCidrs: serviceCidrs, loadBalancerCidrs, ports, healthChecks };
}

/** Headless Services and names for something outside have nothing to forward. */
const isForwarded = ({ metadata, spec }: Service): boolean =>
  metadata.deletionTimestamp === undefined && spec.type !== 'ExternalName' && (spec.clusterIPs?.[0] ?? spec.clusterIP ?? 'None') !== 'None' && (spec.clusterIPs?.[0] ?? spec.clusterIP) !== '';

function portsOf(service: Service, slices: readonly EndpointSlice[], here: Place): ForwardedPort[] {
  const { clusterIPs, clusterIP = '', ports = [] } = service.spec;
  return (clusterIPs ?? [clusterIP]).flatMap((address) => {
    const family = familyOf(address);
    return family === undefined ? [] : ports.map((port) => portOf(service, port, address, family, slices, here));
  });
}

function portOf(service: Service, port: ServicePort, clusterIP: string, family: ForwardedPort['family'], slices: readonly EndpointSlice[], here: Place): ForwardedPort {
  const { spec, status } = service;
  const ofFamily = (addresses: readonly string[] | undefined): string[] => (addresses ?? []).filter((address) => familyOf(address.split('/')[0] ?? '') === family).sort();
  const balancers = spec.type === 'LoadBalancer' ? (status?.loadBalancer.ingress ?? []).flatMap(({ ip, ipMode }) => (ip === undefined || ipMode === 'Proxy' ? [] : [ip])) : [];
  return {
    key: `${keyOf(service)}/${port.port}-${port.protocol.toLowerCase()}-${family === 'IPv4' ? 'ip' : 'ip6'}`,
    family,
    protocol: port.protocol,
    port: port.port,
    clusterIP,
    nodePort: spec.type === 'NodePort' || spec.type === 'LoadBalancer' ? port.nodePort : undefined,
    // IPv6 may be written in several ways.
    externalIPs: [...new Set(ofFamily(spec.externalIPs).map((address) => parseCidr(`${address}/${family === 'IPv4' ? 32 : 128}`).text.split('/')[0] ?? ''))],
    loadBalancerIPs: ofFamily(balancers),
    sourceRanges: spec.type === 'LoadBalancer' ? ofFamily(spec.loadBalancerSourceRanges?.map((range) => range.trim())) : [],
    affinitySeconds: spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : undefined,
    internalLocal: spec.internalTrafficPolicy === 'Local',
    externalLocal: isExternalLocal(service),
    ...endpointsOf(slices, family, port, here),
  };
}

/** Nodes of one machine are in one zone, or in none that could be told. */
function zoneOf(state: ForwardingState, nodes: ReadonlySet<string>): string | undefined {
  const zones = new Set([...nodes].map((node) => state.node(node)?.zone));
  return zones.size === 1 ? [...zones][0] : undefined;
}

const isExternalLocal = ({ spec }: Service): boolean => spec.externalTrafficPolicy === 'Local';
const keyOf = ({ metadata }: Service): string => `${metadata.namespace ?? ''}/${metadata.name}`;
/** Pods, not ports of them: a pod behind two ports counts once. */
const localCount = (ports: readonly ForwardedPort[]): number => new Set(ports.flatMap(({ localEndpoints }) => localEndpoints.map(({ address }) => address))).size;

function familyOf(address: string): ForwardedPort['family'] | undefined {
  const version = isIP(address);
  return version === 4 ? 'IPv4' : version === 6 ? 'IPv6' : undefined;
}
