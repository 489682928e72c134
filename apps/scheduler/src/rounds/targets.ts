import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import {
  portOf, splitHeader, targetUrl, unsupportedParts,
  type AppHttpHealthySpec, type DnsTarget, type HttpTarget, type NetDnsSpec, type NetReachSpec, type ProbeTarget, type RoundSpec, type RunnerStatus,
} from '@roundsman/api';

/** A runner that takes part in a round, with what its last heartbeats said. */
export interface Peer {
  readonly runner: string;
  readonly status: RunnerStatus;
}

/** The built-in service: any runner's echo target stands behind it. */
const echoNames = new Set(['echo.roundsman-system.svc', 'echo.roundsman-system.svc.cluster.local']);
const targetIdLimit = 253;

export type TaskRef = RoundSpec['taskRef'];

/**
 * What one runner has to probe, from the task's spec and the runners of the round. `peers` are those that were ready, in name order,
 * the runner itself among them.
 */
export function targetsOf(ref: TaskRef, round: number, spec: unknown, self: string, peers: readonly Peer[]): ProbeTarget[] {
  if (ref.kind === 'NetReach') return netReach(ref, round, spec as NetReachSpec, peers);
  if (ref.kind === 'AppHttpHealthy') return [appHttp(spec as AppHttpHealthySpec, echoPeer(self, peers))];
  return netDns(spec as NetDnsSpec, echoPeer(self, peers));
}

/** What the task asks for and this cluster cannot test yet, in words for the report. */
export function notTestedOf(ref: TaskRef, spec: unknown, peers: readonly Peer[]): string[] {
  const words = unsupportedParts(ref.kind, spec as Record<string, unknown>, { workloads: false }).map(({ field, why }) => `${field}: ${why}`);
  if (ref.kind !== 'NetReach') return words;
  const { target } = spec as NetReachSpec;
  const lacks = (family: 'v4' | 'v6'): boolean => peers.length > 0 && !peers.some((peer) => addressOf(peer, family) !== undefined);
  if (target.endpoint && target.ipv4 && lacks('v4')) words.push('spec.target.ipv4: no ready runner has an IPv4 address');
  if (target.endpoint && target.ipv6 && lacks('v6')) words.push('spec.target.ipv6: no ready runner has an IPv6 address');
  return words;
}

/** The runner after this one in name order: with two or more runners never its own. */
export function echoPeer(self: string, peers: readonly Peer[]): Peer | undefined {
  return peers[(peers.findIndex(({ runner }) => runner === self) + 1) % peers.length];
}

/** The same whatever the round: part of the natural key of results. Too long ones end in a hash. */
export function targetId(text: string): string {
  if (text.length <= targetIdLimit) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${text.slice(0, targetIdLimit - hash.length - 1)}~${hash}`;
}

function netReach(ref: TaskRef, round: number, { target }: NetReachSpec, peers: readonly Peer[]): HttpTarget[] {
  if (!target.endpoint) return [];
  const onNode = new Map<string, number>();
  for (const { status } of peers) onNode.set(status.node, (onNode.get(status.node) ?? 0) + 1);
  const families = [...(target.ipv4 ? (['v4'] as const) : []), ...(target.ipv6 ? (['v6'] as const) : [])];
  return peers.flatMap((peer) =>
    families.flatMap((family): HttpTarget[] => {
      const address = addressOf(peer, family);
      const port = peer.status.ports['http'];
      if (address === undefined || port === undefined) return [];
      const { node } = peer.status;
      const url = `http://${inUrl(address)}:${port}/?task=${ref.namespace}.${ref.name}.${round}`;
      const id = targetId(`endpoint/${family}/${node}${(onNode.get(node) ?? 0) > 1 ? `/${peer.runner}` : ''}`);
      return [{ id, layer: 'endpoint', node, family, probe: 'http', url, method: 'GET', headers: [], http2: false, hasBody: false, hasTls: false }];
    }),
  );
}

function appHttp({ target }: AppHttpHealthySpec, echo: Peer | undefined): HttpTarget {
  const url = /^https?:\/\//i.test(target.host) ? target.host : `http://${target.host}`;
  const connect = echoConnect(target.host, echo);
  return {
    id: 'url',
    layer: 'url',
    probe: 'http',
    url,
    method: target.method,
    // Admission has refused lines that are no header.
    headers: (target.header ?? []).map(splitHeader).flatMap((header): [string, string][] => (typeof header === 'string' ? [] : [[header[0], header[1]]])),
    http2: target.http2,
    hasBody: target.bodyConfigmapName !== undefined,
    hasTls: target.tlsSecretName !== undefined,
    ...(connect === undefined ? {} : { connect }),
  };
}

/** Where the built-in name leads, on its two ports; on others it does not resolve, like a service without that port. */
function echoConnect(host: string, echo: Peer | undefined): HttpTarget['connect'] {
  const { url } = targetUrl(host);
  if (echo === undefined || url === undefined || !isEchoName(url.hostname)) return undefined;
  const servicePort = portOf(url);
  const port = servicePort === 443 ? echo.status.ports['https'] : servicePort === 80 ? echo.status.ports['http'] : undefined;
  const address = echo.status.addresses[0]?.address;
  return address === undefined || port === undefined ? undefined : { host: address, port };
}

function netDns({ target, request }: NetDnsSpec, echo: Peer | undefined): DnsTarget[] {
  if (target.targetUser === undefined) return [];
  const { port } = target.targetUser;
  const server = target.targetUser.server.replace(/^\[|\]$/g, '');
  const family = isIP(server) === 6 ? 'v6' : isIP(server) === 4 ? 'v4' : undefined;
  const recordType = request.recordType ?? (family === 'v6' ? 'AAAA' : 'A');
  return [
    {
      id: targetId(`dns/${request.protocol}/${inUrl(server)}:${port}/${recordType}/${request.domain}`),
      layer: 'dns',
      ...(family === undefined ? {} : { family }),
      probe: 'dns',
      ...(echoServer(server, port, echo) ?? { server, port }),
      protocol: request.protocol,
      domain: request.domain,
      recordType,
      hasTls: target.tlsSecretName !== undefined,
    },
  ];
}

/** Where the built-in name leads when it is asked as a DNS server. */
function echoServer(server: string, port: number, echo: Peer | undefined): Pick<DnsTarget, 'server' | 'port' | 'serverName'> | undefined {
  if (echo === undefined || !isEchoName(server)) return undefined;
  const behind = port === 853 ? echo.status.ports['dot'] : port === 53 ? echo.status.ports['dns'] : undefined;
  const address = echo.status.addresses[0]?.address;
  return address === undefined || behind === undefined ? undefined : { server: address, port: behind, serverName: server };
}

const isEchoName = (name: string): boolean => echoNames.has(name.toLowerCase().replace(/\.$/, ''));
const addressOf = ({ status }: Peer, family: 'v4' | 'v6'): string | undefined => status.addresses.find((address) => address.family === family)?.address;
const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);
