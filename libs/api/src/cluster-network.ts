import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** An IP network; `text` is its canonical form (`10.244.0.0/16`, `fd00:10:244::/48`), host bits are zero. */
export interface Cidr {
  readonly text: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly prefix: number;
  /** Its first address as a number. */
  readonly base: bigint;
  /** How many addresses it has. */
  readonly size: bigint;
}

/** Throws, naming the text, when it is no CIDR or has host bits set. */
export function parseCidr(text: string): Cidr {
  let parsed: [ipaddr.IPv4 | ipaddr.IPv6, number];
  try {
    parsed = ipaddr.parseCIDR(text);
  } catch (error) {
    throw new Error(`"${text}" is not a CIDR range such as 10.244.0.0/16`, { cause: error });
  }
  const [address, prefix] = parsed;
  const family = address.kind() === 'ipv4' ? 'IPv4' : 'IPv6';
  const size = 1n << BigInt((family === 'IPv4' ? 32 : 128) - prefix);
  const value = numberOf(address);
  const base = value - (value % size);
  if (base !== value) throw new Error(`"${text}" has bits set after its prefix; ${addressText(base, family)}/${prefix} is the range it lies in`);
  return { text: `${addressText(base, family)}/${prefix}`, family, prefix, base, size };
}

/** The address at a place in a range (0: the first), in canonical text. Throws outside of it. */
export function addressAt(cidr: Cidr, index: bigint): string {
  if (index < 0n || index >= cidr.size) throw new Error(`${cidr.text} has no address number ${index}`);
  return addressText(cidr.base + index, cidr.family);
}

/** The place of an address in a range; undefined when it lies outside, or is no address. */
export function indexIn(cidr: Cidr, address: string): bigint | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if ((parsed.kind() === 'ipv4' ? 'IPv4' : 'IPv6') !== cidr.family) return undefined;
  const index = numberOf(parsed) - cidr.base;
  return index >= 0n && index < cidr.size ? index : undefined;
}

export const overlaps = (a: Cidr, b: Cidr): boolean => a.family === b.family && a.base < b.base + b.size && b.base < a.base + a.size;

/** The n-th subnet of a range with a longer prefix. */
export function subnetAt(cidr: Cidr, prefix: number, index: number): Cidr {
  const size = 1n << BigInt((cidr.family === 'IPv4' ? 32 : 128) - prefix);
  if (prefix < cidr.prefix || BigInt(index) * size >= cidr.size) throw new Error(`${cidr.text} has no subnet number ${index} of /${prefix}`);
  return parseCidr(`${addressText(cidr.base + BigInt(index) * size, cidr.family)}/${prefix}`);
}

const numberOf = (address: ipaddr.IPv4 | ipaddr.IPv6): bigint => address.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function addressText(value: bigint, family: Cidr['family']): string {
  const length = family === 'IPv4' ? 4 : 16;
  const bytes = Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 255n));
  const address = ipaddr.fromByteArray(bytes);
  return address.kind() === 'ipv6' ? (address as ipaddr.IPv6).toRFC5952String() : address.toString();
}

const cidrs = z.array(z.string()).min(1).max(2);

/**
 * The addresses of a cluster: decided once, by intake's settings, published as ConfigMap kube-system/cluster-network (key `network.json`), and told to agents with the
 * network state. One range per family, IPv4 first where there are two.
 */
export const clusterNetworkSchema = z.object({
  podCidrs: cidrs.describe('Ranges that the nodes get their pod CIDRs from'),
  /** Prefix of a node's part, per range of podCidrs. */
  nodePrefixes: z.array(z.number().int()).min(1).max(2),
  serviceCidrs: cidrs.describe('Ranges of ClusterIPs'),
  loadBalancerCidrs: z.array(z.string()).max(2).describe('Pool of the addresses of Services of type LoadBalancer; empty: none are given'),
  nodePorts: z.object({ first: z.number().int(), last: z.number().int() }),
  domain: z.string().default('cluster.local'),
  /** ClusterIPs of the cluster's DNS, one per family: the tenth address of each service range, as kubeadm has it. */
  dnsAddresses: z.array(z.string()).min(1).max(2),
  backend: z.enum(['host-gw', 'vxlan']).describe('How machines reach the pods of others: routes, or VXLAN where routers between them do not know pod addresses'),
});
export type ClusterNetwork = z.output<typeof clusterNetworkSchema>;

export const clusterNetworkConfigMap = { namespace: 'kube-system', name: 'cluster-network', key: 'network.json' } as const;

/** Services that the cluster has itself. Their endpoints are the nodes that say in an annotation where they answer. */
export const systemServices = { namespace: 'kube-system', dns: 'kube-dns', ingress: 'ingress' } as const;

/** On nodes: the zone that they are in, given by people or by a cloud. */
export const zoneLabel = 'topology.kubernetes.io/zone';

/** What an agent tells of its node's network, as annotations of the Node (by heartbeat). */
export const nodeNetworkAnnotations = {
  /** `machine`, `namespace` or `docker`: what the node's pods are wired to. */
  mode: 'roundsman.io/network-mode',
  /** Address (one per family, comma separated) of the machine by which the node's pods are reached; equal for nodes on one machine. */
  machine: 'roundsman.io/machine-address',
  /** `nftables` or `userspace`. */
  proxy: 'roundsman.io/service-proxy',
  /** `10.0.0.1:10053`: where this node answers DNS, UDP and TCP. */
  dns: 'roundsman.io/dns-endpoint',
  /** `http=10.0.0.1:10080,https=10.0.0.1:10443`: the ingress proxy on this node's machine, on the one node that keeps it. */
  ingress: 'roundsman.io/ingress-endpoint',
  /** `10.0.0.1:4222`: NATS on this node's machine, for runners in pods; said by the one agent on whose machine it is. */
  nats: 'roundsman.io/nats-endpoint',
} as const;
