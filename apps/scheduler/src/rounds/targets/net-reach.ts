import type { HttpTarget, NetReachSpec } from '@roundsman/api';
import { peersOf, type Coverage, type Peer, type Reasons, type RoundFacts } from './facts.ts';
import { families, familyNames, familyOf, inUrl, type Family } from './family.ts';
import { targetId } from './target-id.ts';

/** One way to the runners in one family: the targets on it, and what there is none for, after "spec.target.<way> over <family>: ". */
interface Way {
  readonly targets: readonly HttpTarget[];
  readonly gaps: readonly string[];
}
type Facts = Pick<RoundFacts, 'taskRef' | 'number' | 'runners' | 'paths'>;

/** By which member of `spec.target` each is asked for; in this order they are probed, and judged from the lowest layer on. */
const ways = { endpoint, multusInterface, clusterIP, nodePort, loadBalancer, ingress } as const;

/** All ways that are asked for, in the families asked for. Each combination has its targets, or is told as a gap. */
export function netReach(facts: Facts, { target }: NetReachSpec, reasons: Reasons): Coverage<HttpTarget> {
  const asked = families.filter((family) => (family === 'v4' ? target.ipv4 : target.ipv6));
  const found = (Object.keys(ways) as (keyof typeof ways)[])
    .filter((way) => target[way])
    .flatMap((way) => asked.map((family) => ({ way, family, ...ways[way](facts, family, reasons) })));
  return {
    targets: found.flatMap(({ targets }) => targets),
    gaps: found.flatMap(({ way, family, gaps }) => gaps.map((gap) => `spec.target.${way} over ${familyNames[family]}: ${gap}`)),
  };
}

/** Every runner by its own address, oneself too. */
function endpoint(facts: Facts, family: Family): Way {
  const peers = peersOf(facts.runners);
  const idOf = endpointIds(peers, family);
  return overPeers(peers, `${familyNames[family]} address`, (peer, port) => {
    const address = peer.addresses?.find((one) => familyOf(one) === family);
    return address === undefined ? [] : [httpTarget(facts, { id: targetId(idOf(peer)), layer: 'endpoint', node: peer.node, family }, address, port)];
  });
}

/** Every runner by its interfaces besides the first. */
function multusInterface(facts: Facts, family: Family): Way {
  const peers = peersOf(facts.runners);
  const idOf = endpointIds(peers, family);
  return overPeers(peers, `further interface with an ${familyNames[family]} address`, (peer, port) => {
    const here = (peer.interfaces ?? []).filter((one) => one.family === family).sort((a, b) => compare(a.name, b.name) || compare(a.address, b.address));
    return here.map(({ name, address }) => {
      const alone = here.filter((one) => one.name === name).length === 1;
      const id = targetId(`${idOf(peer)}@${name}${alone ? '' : `/${address}`}`);
      return httpTarget(facts, { id, layer: 'endpoint', node: peer.node, interface: name, family }, address, port);
    });
  });
}

function clusterIP(facts: Facts, family: Family, reasons: Reasons): Way {
  const service = serviceOf(facts, family);
  if (service === undefined) return gap(`the runtime has no Service for it${because(reasons.services)}`);
  if (service.clusterIP === undefined) return gap(`Service ${service.name} has no cluster address${because(reasons.services)}`);
  return { targets: [httpTarget(facts, { id: `clusterIP/${family}`, layer: 'clusterIP', family }, service.clusterIP, service.port)], gaps: [] };
}

/** On every node, whether or not a runner is on it. */
function nodePort(facts: Facts, family: Family, reasons: Reasons): Way {
  const service = serviceOf(facts, family);
  if (service === undefined) return gap(`the runtime has no Service for it${because(reasons.services)}`);
  const { nodePort: port } = service;
  if (port === undefined) return gap(`Service ${service.name} has no node port${because(reasons.services)}`);
  const nodes = [...(facts.paths?.nodes ?? [])].sort((a, b) => compare(a.name, b.name));
  if (nodes.length === 0) return gap('no node is known');
  const without: string[] = [];
  const targets = nodes.flatMap(({ name, addresses }) => {
    const address = addresses.filter((one) => one.family === family).map((one) => one.address).sort(compare)[0];
    if (address === undefined) without.push(name);
    return address === undefined ? [] : [httpTarget(facts, { id: targetId(`nodePort/${family}/${name}`), layer: 'nodePort', node: name, family }, address, port)];
  });
  if (without.length === 0) return { targets, gaps: [] };
  return { targets, gaps: [targets.length === 0 ? `no node has an ${familyNames[family]} address` : `no ${familyNames[family]} address on ${listed(without)}`] };
}

/** Every address of the load balancer. */
function loadBalancer(facts: Facts, family: Family, reasons: Reasons): Way {
  const service = serviceOf(facts, family);
  if (service === undefined) return gap(`the runtime has no Service for it${because(reasons.services)}`);
  const hosts = balancers(service.loadBalancer ?? [], family);
  if (hosts.length === 0) return gap(`Service ${service.name} has no load balancer address${(service.loadBalancer ?? []).length > 0 ? ` of ${familyNames[family]}` : ''}${because(reasons.services)}`);
  return { targets: hosts.map((host) => httpTarget(facts, { id: balancerId('loadBalancer', family, host, hosts), layer: 'loadBalancer', family }, host, service.port)), gaps: [] };
}

/** The rule's URL at every address where its controller answers. */
function ingress(facts: Facts, family: Family, reasons: Reasons): Way {
  const rule = facts.paths?.ingress;
  if (rule === undefined) return gap(`the runtime has no Ingress${because(reasons.ingress)}`);
  const hosts = balancers(rule.addresses, family);
  if (hosts.length === 0) {
    return gap(`Ingress ${rule.name} has no address${rule.addresses.length > 0 ? ` of ${familyNames[family]}` : ''}${because(reasons.ingress) || ': no ingress controller serves it'}`);
  }
  const url = `${rule.tls ? 'https' : 'http'}://${inUrl(rule.host)}${rule.path.startsWith('/') ? '' : '/'}${rule.path}${query(facts)}`;
  const port = rule.tls ? 443 : 80;
  return {
    targets: hosts.map((host) => ({ ...plain, id: balancerId('ingress', family, host, hosts), layer: 'ingress' as const, family, url, connect: { host, port } })),
    gaps: [],
  };
}

const plain = { probe: 'http', method: 'GET', headers: [] as [string, string][], http2: false, hasBody: false, hasTls: false } as const;

function httpTarget(facts: Facts, target: Pick<HttpTarget, 'id' | 'layer' | 'node' | 'interface' | 'family'>, host: string, port: number): HttpTarget {
  return { ...plain, ...target, url: `http://${inUrl(host)}:${port}/${query(facts)}` };
}

/** Under this name the echo targets count. */
const query = ({ taskRef, number }: Facts): string => `?task=${taskRef.namespace}.${taskRef.name}.${number}`;

/** `endpoint/v4/node-2`; where several runners share the node, with the runner. */
function endpointIds(peers: readonly Peer[], family: Family): (peer: Peer) => string {
  const onNode = new Map<string, number>();
  for (const { node } of peers) onNode.set(node, (onNode.get(node) ?? 0) + 1);
  return ({ runner, node }) => `endpoint/${family}/${node}${(onNode.get(node) ?? 0) > 1 ? `/${runner}` : ''}`;
}

/** `loadBalancer/v4`; where there are several addresses, with the address. */
const balancerId = (way: string, family: Family, host: string, hosts: readonly string[]): string => targetId(`${way}/${family}${hosts.length > 1 ? `/${host}` : ''}`);

/** Addresses of this family, and names, which may lead to one; in a fixed order, each once. */
function balancers(all: readonly { readonly ip?: string | undefined; readonly hostname?: string | undefined }[], family: Family): string[] {
  const hosts = all.flatMap(({ ip, hostname }) => (ip !== undefined && ip !== '' ? (familyOf(ip) === family ? [ip] : []) : hostname === undefined || hostname === '' ? [] : [hostname]));
  return [...new Set(hosts)].sort(compare);
}

const serviceOf = ({ paths }: Facts, family: Family): NonNullable<RoundFacts['paths']>['services'][number] | undefined => paths?.services.find((service) => service.family === family);

/** Those of all peers; one that has none is told. Without any ready runner there is nothing to tell: each is named as missing. */
function overPeers(peers: readonly Peer[], what: string, targetsOf: (peer: Peer, port: number) => HttpTarget[]): Way {
  const found = peers.map((peer) => ({ peer, targets: peer.ports?.['http'] === undefined ? [] : targetsOf(peer, peer.ports['http']) }));
  const targets = found.flatMap((one) => one.targets);
  const without = found.filter((one) => one.targets.length === 0).map(({ peer }) => peer.runner);
  if (without.length === 0) return { targets, gaps: [] };
  return { targets, gaps: [without.length === peers.length ? `no ready runner has ${article(what)}` : `no ${what} of ${listed(without)}`] };
}

const gap = (why: string): Way => ({ targets: [], gaps: [why] });
const article = (what: string): string => `${/^[IA]/.test(what) ? 'an' : 'a'} ${what}`;
const because = (why: string | undefined): string => (why === undefined ? '' : `: ${why}`);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** At most five by name: a Round stays small however many nodes there are. */
function listed(names: readonly string[]): string {
  const sorted = [...names].sort(compare);
  return sorted.length <= 6 ? sorted.join(', ') : `${sorted.slice(0, 5).join(', ')} and ${sorted.length - 5} others`;
}
