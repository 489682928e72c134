import { dialects, masqueradeMark, type Dialect } from './dialect.ts';
import type { Chain, Collection } from './ruleset.ts';

/**
 * The chains that packets enter, the same whatever Services there are. In the order of their hooks:
 * zones: a UDP flow whose endpoint is gone is looked up in a conntrack zone of its own, where it is a new one;
 * guard: refuses or drops before anything is translated, so it does not depend on routes;
 * nat: one look-up per packet that opens a connection decides;
 * unserved: refuses what goes to a port that a ClusterIP does not have, or to an address of the Services' ranges that no Service has, lest it look for it outside of the cluster;
 * stale: finds the UDP flows that still lead to an endpoint that is gone.
 */
export function frameChains(): [string, Chain][] {
  const hooks = (type: string, priority: string) => (hook: string): string => `type ${type} hook ${hook} priority ${priority}`;
  const [raw, guard, nat] = [hooks('filter', '-310'), hooks('filter', '-110'), hooks('nat', '-100')];
  return [
    ['zones', { rules: dialects.map((dialect) => `ct original zone set ${flow(dialect)} map @stale-flows${dialect.suffix} update @stale-flows${dialect.suffix} { ${flow(dialect)} : ${anyZone} }`) }],
    ['zones-prerouting', { hook: raw('prerouting'), rules: ['meta l4proto udp jump zones'] }],
    ['zones-output', { hook: raw('output'), rules: ['meta l4proto udp jump zones'] }],
    ['refuse', { rules: ['meta l4proto tcp reject with tcp reset', 'reject'] }],
    ['guard', { rules: [...dialects.map(({ ip, suffix }) => `${ip} daddr . meta l4proto . th dport vmap @guarded${suffix}`), ...dialects.map((dialect) => `${toNode(dialect)} meta l4proto . th dport vmap @guarded-node-ports${dialect.suffix}`)] }],
    ['guard-prerouting', { hook: guard('prerouting'), rules: ['ct state new jump guard'] }],
    ['guard-output', { hook: guard('output'), rules: ['ct state new jump guard'] }],
    ['unserved', { rules: dialects.flatMap(({ ip, suffix }) => ['cluster-ips', 'cluster-ip-ranges'].map((set) => `${ip} daddr @${set}${suffix} goto refuse`)) }],
    // Where it has not been translated.
    ['unserved-forward', { hook: hooks('filter', '-1')('forward'), rules: ['ct state new jump unserved'] }],
    ['unserved-output', { hook: hooks('filter', '-90')('output'), rules: ['ct state new jump unserved'] }],
    ['services', { rules: [...dialects.map(({ ip, suffix }) => `${ip} daddr . meta l4proto . th dport vmap @services${suffix}`), ...dialects.flatMap(nodeRules)] }],
    ['nat-prerouting', { hook: nat('prerouting'), rules: ['jump services'] }],
    ['nat-output', { hook: nat('output'), rules: ['jump services'] }],
    [
      'nat-postrouting',
      {
        hook: hooks('nat', '100')('postrouting'),
        rules: [...dialects.map(({ ip, suffix }) => `ct status dnat ${ip} saddr . ${ip} daddr @hairpins${suffix} masquerade fully-random`), `meta mark and ${masqueradeMark} == ${masqueradeMark} masquerade fully-random`],
      },
    ],
    ...dialects.map((dialect): [string, Chain] => [`stale-flow${dialect.suffix}`, { rules: staleFlowRules(dialect) }]),
    ...dialects.map(leadsNowhere),
    ['stale', { rules: dialects.flatMap(staleRules) }],
    ['stale-input', { hook: hooks('filter', '0')('input'), rules: ['meta l4proto udp ct direction original ct status dnat jump stale'] }],
    ['stale-postrouting', { hook: hooks('filter', '90')('postrouting'), rules: ['meta l4proto udp ct direction original ct status dnat jump stale'] }],
  ];
}

/** To an address that the node has; loopback is its own business, as in kube-proxy's nftables mode. */
const toNode = ({ ip, loopback }: Dialect): string => `fib daddr type local ${ip} daddr != ${loopback}`;

const nodeRules = (dialect: Dialect): string[] => [
  `${toNode(dialect)} meta l4proto . th dport vmap @node-ports${dialect.suffix}`,
  `${toNode(dialect)} meta l4proto { tcp, udp, sctp } dnat ${dialect.ip} to ${dialect.ip} daddr . meta l4proto . th dport map @host-ports${dialect.suffix}`,
  `${toNode(dialect)} meta l4proto { tcp, udp, sctp } dnat ${dialect.ip} to meta l4proto . th dport map @any-host-ports${dialect.suffix}`,
];

const anyZone = 'numgen random mod 65000 offset 1';
/** Of one client's socket to a port. */
const flow = ({ client }: Dialect): string => `${client} . udp sport . udp dport`;

/** Flows of others are passed by. A set cannot hold `ct original proto-dst`, so the chains of ports have a rule per port that is served over UDP beyond the ClusterIPs. */
const staleRules = ({ ip, suffix }: Dialect): string[] => [
  `ct original ${ip} daddr @service-ranges${suffix} goto stale-address${suffix}`,
  `ct original ${ip} daddr @udp-externals${suffix} jump stale-external-ports${suffix}`,
  `meta nfproto ipv${suffix} goto stale-node-ports${suffix}`,
];

/** Of addresses outside of the cluster's ranges. */
export const staleExternalPorts = ({ suffix }: Dialect, ports: Iterable<number>): [string, Chain] => [
  `stale-external-ports${suffix}`,
  { rules: [...ports].sort((a, b) => a - b).map((port) => `meta l4proto udp ct original proto-dst ${port} goto stale-address${suffix}`) },
];

/** Of all addresses that a node has; `flows`: by node port, where its flows may lead (`10.244.0.1 . 53`). */
export function staleNodePorts({ ip, suffix }: Dialect, flows: ReadonlyMap<number, readonly string[]>): [string, Chain][] {
  const ports = [...flows].sort(([a], [b]) => a - b);
  return [
    [`stale-node-ports${suffix}`, { rules: ports.map(([port]) => `meta l4proto udp ct original proto-dst ${port} goto stale-node-port/${port}-${suffix}`) }],
    ...ports.map(([port, to]): [string, Chain] => [`stale-node-port/${port}-${suffix}`, { rules: [`${to.length === 0 ? '' : `${ip} daddr . udp dport != { ${to.join(', ')} } `}goto stale-flow${suffix}`] }]),
  ];
}

const leadsNowhere = ({ ip, suffix }: Dialect): [string, Chain] => [`stale-address${suffix}`, { rules: [`ct original ${ip} daddr . ${ip} daddr . udp dport != @udp-flows${suffix} goto stale-flow${suffix}`] }];

/** The packet that shows it is lost; the next one of the flow opens a new one. Deleted first: what a key leads to cannot be changed by a packet. */
function staleFlowRules(dialect: Dialect): string[] {
  const noted = `@stale-flows${dialect.suffix} { ${dialect.client} . udp sport . ct original proto-dst : ${anyZone} }`;
  return [`delete ${noted}`, `add ${noted} drop`];
}

type Elements = Map<string, string>;

/** What the frame looks up, per family; `elements` says what is in it. */
export function frameCollections(elements: (name: string) => Elements): [string, Collection][] {
  const fixed = (type: 'set' | 'map', name: string, definition: string): [string, Collection] => [name, { type, definition, elements: elements(name) }];
  return dialects.flatMap(({ type, client, suffix }): [string, Collection][] => [
      fixed('map', `services${suffix}`, `type ${type} . inet_proto . inet_service : verdict ;`),
      fixed('map', `node-ports${suffix}`, 'type inet_proto . inet_service : verdict ;'),
      fixed('map', `guarded${suffix}`, `type ${type} . inet_proto . inet_service : verdict ;`),
      fixed('map', `guarded-node-ports${suffix}`, 'type inet_proto . inet_service : verdict ;'),
      fixed('map', `host-ports${suffix}`, `type ${type} . inet_proto . inet_service : ${type} . inet_service ;`),
      fixed('map', `any-host-ports${suffix}`, `type inet_proto . inet_service : ${type} . inet_service ;`),
      fixed('set', `pods${suffix}`, `type ${type} ; flags interval ;`),
      fixed('set', `local-pods${suffix}`, `type ${type} ; flags interval ;`),
      fixed('set', `cluster-ips${suffix}`, `type ${type} ;`),
      fixed('set', `cluster-ip-ranges${suffix}`, `type ${type} ; flags interval ;`),
      fixed('set', `service-ranges${suffix}`, `type ${type} ; flags interval ;`),
      fixed('set', `hairpins${suffix}`, `type ${type} . ${type} ;`),
      fixed('set', `udp-flows${suffix}`, `type ${type} . ${type} . inet_service ;`),
      fixed('set', `udp-externals${suffix}`, `type ${type} ;`),
      [`stale-flows${suffix}`, { type: 'map', definition: `typeof ${client} . udp sport . udp dport : ct zone ; size 65535 ; flags dynamic,timeout ; timeout 5m ;`, elements: undefined }],
    ]);
}
