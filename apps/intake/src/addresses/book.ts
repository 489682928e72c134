import { addressAt, indexIn, parseCidr, systemServices, type Cidr, type ClusterNetwork, type KubeObject, type Service } from '@roundsman/api';
import type { State } from '../state.ts';
import { freeIn, keptOf, type Range } from './range.ts';

export type Family = 'IPv4' | 'IPv6';

/** The addresses of services of one family. */
interface Pool {
  readonly cidr: Cidr;
  readonly range: Range;
  /** Owner (uid) by place. */
  readonly taken: Map<number, string>;
  /** Place of the address of the cluster's DNS. */
  readonly dns: number | undefined;
}

/** Whose write it is. */
export interface Asker {
  readonly uid: string;
  /** May have the addresses that are kept for the cluster's DNS. */
  readonly isDns: boolean;
}
export const askerOf = ({ metadata }: KubeObject): Asker => ({ uid: metadata.uid, isDns: metadata.namespace === systemServices.namespace && metadata.name === systemServices.dns });

/**
 * Which address and which port of the nodes belongs to which service, as of everything that was admitted. It follows the state: what a write was
 * promised counts as soon as that write is admitted, and a write that comes to nothing (a dry run, a refusal) has taken nothing.
 */
export class AddressBook {
  readonly network: ClusterNetwork;
  readonly #pools: ReadonlyMap<Family, Pool>;
  readonly #ports = new Map<number, string>();
  readonly #portRange: Range;

  constructor(network: ClusterNetwork, state: Pick<State, 'list' | 'onAdmitted'>) {
    this.network = network;
    this.#pools = new Map(network.serviceCidrs.map((text) => poolOf(text, network.dnsAddresses)));
    const { first, last } = network.nodePorts;
    this.#portRange = { first, last, kept: keptOf(last - first + 1, { share: 32, most: 128 }) };
    for (const service of state.list('services')) this.#take(service as Service);
    state.onAdmitted('services', (before, after) => {
      if (before !== undefined) this.#giveBack(before as Service);
      if (after !== undefined) this.#take(after as Service);
    });
  }

  /** Families of the cluster, the first one is that of services which ask for none. */
  get families(): readonly Family[] {
    return [...this.#pools.keys()];
  }

  /** Undefined when none is left. */
  freeAddress(family: Family): string | undefined {
    const pool = this.#pools.get(family);
    const place = pool && freeIn(pool.range, (candidate) => pool.taken.has(candidate) || candidate === pool.dns);
    return place === undefined ? undefined : addressAt(pool!.cidr, BigInt(place));
  }

  /** Why an address cannot be had, in Kubernetes' words; undefined when it can. */
  addressProblem(family: Family, address: string, { uid, isDns }: Asker): string | undefined {
    const pool = this.#pools.get(family);
    const place = pool && placeOf(pool, address);
    if (pool === undefined || place === undefined) return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${this.network.serviceCidrs[this.families.indexOf(family)]}`;
    const isTaken = (pool.taken.get(place) ?? uid) !== uid || (place === pool.dns && !isDns);
    return isTaken ? 'provided IP is already allocated' : undefined;
  }

  freePort(besides: ReadonlySet<number>): number | undefined {
    return freeIn(this.#portRange, (port) => this.#ports.has(port) || besides.has(port));
  }

  portProblem(port: number, { uid }: Asker): string | undefined {
    const { first, last } = this.#portRange;
    if (port < first || port > last) return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    return (this.#ports.get(port) ?? uid) === uid ? undefined : 'provided port is already allocated';
  }

  #take(service: Service): void {
    this.#each(service, (taken, key) => void taken.set(key, service.metadata.uid));
  }

  #giveBack(service: Service): void {
    this.#each(service, (taken, key) => {
      if (taken.get(key) === service.metadata.uid) taken.delete(key);
    });
  }

  #each({ spec }: Service, act: (taken: Map<number, string>, key: number) => void): void {
    for (const address of spec.clusterIPs ?? []) {
      for (const pool of this.#pools.values()) {
        const place = placeOf(pool, address);
        if (place !== undefined) act(pool.taken, place);
      }
    }
    for (const port of portsOf(spec)) act(this.#ports, port);
  }
}

/** All ports that a service has on the nodes. */
export const portsOf = ({ ports = [], healthCheckNodePort }: Service['spec']): number[] => [...ports.flatMap(({ nodePort }) => nodePort ?? []), ...(healthCheckNodePort === undefined ? [] : [healthCheckNodePort])];

function poolOf(text: string, dnsAddresses: readonly string[]): [Family, Pool] {
  const cidr = parseCidr(text);
  const dns = dnsAddresses.map((address) => indexIn(cidr, address)).find((place) => place !== undefined);
  // The first address is that of the network, the last one of IPv4 reaches all of it.
  const last = Number(cidr.size) - (cidr.family === 'IPv4' ? 2 : 1);
  const kept = keptOf(Number(cidr.size), { share: 16, most: 256 });
  return [cidr.family, { cidr, range: { first: 1, last, kept: Math.max(0, kept - 1) }, taken: new Map(), dns: dns === undefined ? undefined : Number(dns) }];
}

function placeOf({ cidr, range }: Pool, address: string): number | undefined {
  const place = indexIn(cidr, address);
  return place === undefined || place < range.first || place > range.last ? undefined : Number(place);
}
