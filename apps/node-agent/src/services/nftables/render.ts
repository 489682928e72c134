import { isIPv6 } from 'node:net';
import type { PublishedPort } from '../host-ports.ts';
import type { ForwardedEndpoint, ForwardedPort, ForwardingTable } from '../forwarding/table.ts';
import { dialectOf, dialects, ipv4, ipv6, markForMasquerade, type Dialect } from './dialect.ts';
import { frameChains, frameCollections, staleExternalPorts, staleNodePorts } from './frame.ts';
import type { Chain, Collection, Ruleset } from './ruleset.ts';

/** The rules of one namespace. What a packet costs depends neither on how many Services there are nor, without affinity, on how many endpoints one has. Pure. */
export function rulesetOf(table: ForwardingTable, hostPorts: readonly PublishedPort[]): Ruleset {
  const rendering = new Rendering();
  for (const cidr of table.podCidrs) rendering.put(`pods${of(cidr).suffix}`, cidr);
  for (const cidr of table.localPodCidrs) rendering.put(`local-pods${of(cidr).suffix}`, cidr);
  for (const cidr of table.clusterIpCidrs) rendering.put(`cluster-ip-ranges${of(cidr).suffix}`, cidr);
  for (const cidr of [...table.clusterIpCidrs, ...table.loadBalancerCidrs]) rendering.put(`service-ranges${of(cidr).suffix}`, cidr);
  for (const port of table.ports) rendering.port(port);
  for (const hostPort of hostPorts) rendering.hostPort(hostPort);
  return rendering.ruleset();
}

const of = (address: string): Dialect => (address.includes(':') ? ipv6 : ipv4);

/** Clients that an endpoint keeps; the kernel takes 11 bytes for each at once. Any more are served without affinity. */
const clientsKept = 16_384;

class Rendering {
  readonly #chains = new Map<string, Chain>(frameChains());
  readonly #collections = new Map<string, Collection>();
  readonly #udpPorts = { external: new Set<number>(), node: { 4: new Map<number, string[]>(), 6: new Map<number, string[]>() } };
  readonly #elements = new Map<string, Map<string, string>>();

  constructor() {
    for (const [name, collection] of frameCollections((name) => this.#elementsOf(name))) this.#collections.set(name, collection);
  }

  ruleset(): Ruleset {
    for (const dialect of dialects) {
      const chains = [staleExternalPorts(dialect, this.#udpPorts.external), ...staleNodePorts(dialect, this.#udpPorts.node[dialect.suffix])];
      for (const [name, chain] of chains) this.#chains.set(name, chain);
    }
    return { chains: this.#chains, collections: this.#collections };
  }

  /** The first one keeps a key: two Services (or pods) that claim the same are the control plane's mistake, not a transaction that fails. */
  put(collection: string, key: string, data = '', comment = ''): void {
    const elements = this.#elementsOf(collection);
    if (!elements.has(key)) elements.set(key, `${comment === '' ? '' : ` comment "${comment}"`}${data === '' ? '' : ` : ${data}`}`);
  }

  port(port: ForwardedPort): void {
    const dialect = dialectOf(port.family);
    const { suffix } = dialect;
    const proto = port.protocol.toLowerCase();
    const outside = [...port.externalIPs, ...port.loadBalancerIPs];
    const at = (address: string): string => `${address} . ${proto} . ${port.port}`;
    this.put(`cluster-ips${suffix}`, port.clusterIP);
    if (port.sourceRanges.length > 0 && port.endpoints.length > 0) {
      this.#chain(`firewall/${port.key}`, [...port.sourceRanges.map((range) => `${dialect.ip} saddr ${range} return`), 'drop']);
      for (const address of port.loadBalancerIPs) this.put(`guarded${suffix}`, at(address), `jump firewall/${port.key}`);
    }
    if (port.endpoints.length === 0) {
      for (const address of [port.clusterIP, ...outside]) this.put(`guarded${suffix}`, at(address), 'goto refuse');
      if (port.nodePort !== undefined) this.put(`guarded-node-ports${suffix}`, `${proto} . ${port.nodePort}`, 'goto refuse');
    } else {
      this.#inside(port, dialect, at(port.clusterIP));
      if (outside.length > 0 || port.nodePort !== undefined) this.#outside(port, dialect, outside.map(at), port.nodePort === undefined ? undefined : `${proto} . ${port.nodePort}`);
      for (const { address } of port.endpoints) this.put(`hairpins${suffix}`, `${address} . ${address}`);
    }
    if (port.protocol === 'UDP') this.#udpFlows(port, dialect);
  }

  hostPort({ podUid, protocol, hostIP, hostPort, address, containerPort }: PublishedPort): void {
    const { suffix } = isIPv6(address) ? ipv6 : ipv4;
    const at = `${protocol.toLowerCase()} . ${hostPort}`;
    const target = `${address} . ${containerPort}`;
    const everywhere = hostIP === '' || hostIP === '0.0.0.0' || hostIP === '::';
    if (everywhere) this.put(`any-host-ports${suffix}`, at, target, podUid);
    else if (isIPv6(hostIP) === isIPv6(address)) this.put(`host-ports${suffix}`, `${hostIP} . ${at}`, target, podUid);
    this.put(`hairpins${suffix}`, `${address} . ${address}`);
  }

  #inside(port: ForwardedPort, dialect: Dialect, at: string): void {
    const name = `cluster-ip/${port.key}`;
    const rules = [`${dialect.ip} saddr != @pods${dialect.suffix} ${markForMasquerade}`, this.#toward(port.internalLocal ? 'local' : 'all', port, dialect)];
    this.#chain(name, rules);
    this.put(`services${dialect.suffix}`, at, `goto ${name}`);
  }

  #outside(port: ForwardedPort, dialect: Dialect, addresses: readonly string[], nodePort: string | undefined): void {
    const name = `external/${port.key}`;
    const everywhere = this.#toward('all', port, dialect);
    const rules = port.externalLocal
      ? // Pods of this node and the node itself are no outside: they reach all endpoints. (Answers to pods of others would not come back this way.)
        [`${dialect.ip} saddr @local-pods${dialect.suffix} ${everywhere}`, `fib saddr type local ${markForMasquerade}`, `fib saddr type local ${everywhere}`, this.#toward('local', port, dialect)]
      : [markForMasquerade, everywhere];
    this.#chain(name, rules);
    for (const address of addresses) this.put(`services${dialect.suffix}`, address, `goto ${name}`);
    if (nodePort !== undefined) this.put(`node-ports${dialect.suffix}`, nodePort, `goto ${name}`);
  }

  /** The verdict that leads to one of these endpoints; made once. */
  #toward(which: 'all' | 'local', port: ForwardedPort, dialect: Dialect): string {
    const endpoints = which === 'all' ? port.endpoints : port.localEndpoints;
    if (endpoints.length === 0) return 'drop';
    const name = `${which}/${port.key}`;
    if (!this.#chains.has(name)) this.#chain(name, port.affinitySeconds === undefined ? [spread(port, endpoints, dialect)] : this.#sticky(port, port.affinitySeconds, endpoints, dialect));
    return `goto ${name}`;
  }

  #sticky(port: ForwardedPort, seconds: number, endpoints: readonly ForwardedEndpoint[], dialect: Dialect): string[] {
    const chains = endpoints.map((endpoint) => {
      const id = `${port.key}/${endpoint.address.replaceAll(':', '_')}/${endpoint.port}`;
      const clients = `clients-${seconds}/${id}`;
      this.#collections.set(clients, { type: 'set', definition: `type ${dialect.type} ; size ${clientsKept} ; flags dynamic,timeout ; timeout ${seconds}s ;`, elements: undefined });
      this.#chain(`endpoint/${id}`, [`update @${clients} { ${dialect.ip} saddr }`, translation(port, dialect, dialect.target(endpoint.address, endpoint.port))]);
      return { chain: `endpoint/${id}`, clients };
    });
    const known = chains.map(({ chain, clients }) => `${dialect.ip} saddr @${clients} goto ${chain}`);
    return [...known, chains.length === 1 ? `goto ${chains[0]?.chain}` : `numgen random mod ${chains.length} vmap { ${chains.map(({ chain }, index) => `${index} : goto ${chain}`).join(', ')} }`];
  }

  #udpFlows(port: ForwardedPort, { suffix }: Dialect): void {
    const outside = [...port.externalIPs, ...port.loadBalancerIPs];
    for (const address of outside) this.put(`udp-externals${suffix}`, address);
    if (outside.length > 0) this.#udpPorts.external.add(port.port);
    if (port.nodePort !== undefined) this.#udpPorts.node[suffix].set(port.nodePort, port.serving.map(({ address, port: number }) => `${address} . ${number}`));
    for (const { address, port: number } of port.serving) {
      for (const from of [port.clusterIP, ...outside]) this.put(`udp-flows${suffix}`, `${from} . ${address} . ${number}`);
    }
  }

  #chain(name: string, rules: readonly string[]): void {
    this.#chains.set(name, { rules });
  }

  #elementsOf(name: string): Map<string, string> {
    const elements = this.#elements.get(name) ?? new Map<string, string>();
    this.#elements.set(name, elements);
    return elements;
  }
}

const translation = ({ protocol }: ForwardedPort, { ip }: Dialect, target: string): string => `meta l4proto ${protocol.toLowerCase()} dnat ${ip} to ${target}`;

function spread(port: ForwardedPort, endpoints: readonly ForwardedEndpoint[], dialect: Dialect): string {
  const [first] = endpoints;
  if (endpoints.length === 1 && first !== undefined) return translation(port, dialect, dialect.target(first.address, first.port));
  const targets = endpoints.map(({ address, port: number }, index) => `${index} : ${address} . ${number}`).join(', ');
  return translation(port, dialect, `numgen random mod ${endpoints.length} map { ${targets} }`);
}
