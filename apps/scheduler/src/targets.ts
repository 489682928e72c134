import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { AppHttpHealthySpec, DnsTarget, HttpTarget, NetDnsSpec, NetReachSpec, ProbeTarget, RoundSpec, RunnerStatus } from '@roundsman/api';

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
  const words: string[] = [];
  if ((spec as { agentSpec?: unknown }).agentSpec !== undefined) words.push('agentSpec: tasks have no runtime of their own yet; the round ran on the default runners');
  if (ref.kind === 'NetReach') {
    const { target } = spec as NetReachSpec;
    const layers = ['multusInterface', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'] as const;
    for (const layer of layers) if (target[layer]) words.push(`target.${layer}: this cluster has no such path to its runners yet`);
    if (target.endpoint) {
      if (target.ipv4 && !peers.some((peer) => addressOf(peer, 'v4') !== undefined)) words.push('target.ipv4: no ready runner has an IPv4 address');
      if (target.ipv6 && !peers.some((peer) => addressOf(peer, 'v6') !== undefined)) words.push('target.ipv6: no ready runner has an IPv6 address');
    }
  }
  if (ref.kind === 'NetDNS') {
    const { target, request } = spec as NetDnsSpec;
    if (target.targetDns !== undefined && !isEchoService(target.targetDns)) words.push('target.targetDns: this cluster has no DNS service to find yet; name a server in target.targetUser');
    else if (target.targetDns !== undefined) {
      if (target.targetDns.testIPv4 && !peers.some((peer) => addressOf(peer, 'v4') !== undefined)) words.push('target.targetDns.testIPv4: no ready runner has an IPv4 address');
      if (target.targetDns.testIPv6 && !peers.some((peer) => addressOf(peer, 'v6') !== undefined)) words.push('target.targetDns.testIPv6: no ready runner has an IPv6 address');
      if (request.protocol === 'tcp-tls') words.push('target.targetDns: a service is asked on port 53, which speaks no TLS; name a server and its port in target.targetUser');
    }
  }
  return words;
}

/** The runner after this one in name order: with two or more runners never its own. */
export function echoPeer(self: string, peers: readonly Peer[]): Peer | undefined {
  return peers[(peers.findIndex(({ runner }) => runner === self) + 1) % peers.length];
}

/** `Key: value` at the first colon; undefined without one. */
export function headerOf(line: string): [string, string] | undefined {
  const colon = line.indexOf(':');
  if (colon <= 0) return undefined;
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
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
  const connect = echoConnect(url, echo);
  return {
    id: 'url',
    layer: 'url',
    probe: 'http',
    url,
    method: target.method,
    headers: (target.header ?? []).map(headerOf).filter((header) => header !== undefined),
    http2: target.http2,
    hasBody: target.bodyConfigmapName !== undefined,
    hasTls: target.tlsSecretName !== undefined,
    ...(connect === undefined ? {} : { connect }),
  };
}

/** Where the built-in name leads, on its two ports; elsewhere it does not resolve, as a service without that port. */
function echoConnect(url: string, echo: Peer | undefined): HttpTarget['connect'] {
  if (echo === undefined || !URL.canParse(url)) return undefined;
  const { hostname, port, protocol } = new URL(url);
  if (!echoNames.has(hostname.toLowerCase().replace(/\.$/, ''))) return undefined;
  const servicePort = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  const behind = echo.status.ports[servicePort === 443 ? 'https' : servicePort === 80 ? 'http' : ''];
  const host = echo.status.addresses[0]?.address;
  return host === undefined || behind === undefined ? undefined : { host, port: behind };
}

interface DnsServer {
  /** As the report shows it and as the id has it. */
  readonly name: string;
  readonly namePort: number;
  readonly server: string;
  readonly port: number;
  readonly serverName?: string;
}

function netDns({ target, request }: NetDnsSpec, echo: Peer | undefined): DnsTarget[] {
  return dnsServers(target, echo).map(({ name, namePort, server, port, serverName }) => {
    const family = isIP(server) === 6 ? 'v6' : isIP(server) === 4 ? 'v4' : undefined;
    const recordType = request.recordType ?? (family === 'v6' ? 'AAAA' : 'A');
    return {
      id: targetId(`dns/${request.protocol}/${inUrl(name)}:${namePort}/${recordType}/${request.domain}`),
      layer: 'dns',
      ...(family === undefined ? {} : { family }),
      probe: 'dns',
      server,
      port,
      protocol: request.protocol,
      domain: request.domain,
      recordType,
      hasTls: target.tlsSecretName !== undefined,
      ...(serverName === undefined ? {} : { serverName }),
    };
  });
}

function dnsServers(target: NetDnsSpec['target'], echo: Peer | undefined): DnsServer[] {
  const { targetUser, targetDns } = target;
  if (targetUser !== undefined) {
    const { server, port } = targetUser;
    const bare = server.startsWith('[') && server.endsWith(']') ? server.slice(1, -1) : server;
    const address = echo?.status.addresses[0]?.address;
    const behind = port === 53 ? echo?.status.ports['dns'] : port === 853 ? echo?.status.ports['dot'] : undefined;
    if (!echoNames.has(bare.toLowerCase().replace(/\.$/, '')) || address === undefined || behind === undefined) return [{ name: bare, namePort: port, server: bare, port }];
    return [{ name: bare, namePort: port, server: address, port: behind, serverName: bare }];
  }
  if (targetDns === undefined || !isEchoService(targetDns) || echo === undefined) return [];
  const port = echo.status.ports['dns'];
  if (port === undefined) return [];
  const wanted = [...(targetDns.testIPv4 ? (['v4'] as const) : []), ...(targetDns.testIPv6 ? (['v6'] as const) : [])];
  return wanted.flatMap((family) => {
    const address = addressOf(echo, family);
    return address === undefined ? [] : [{ name: `echo.roundsman-system.svc.${family}`, namePort: 53, server: address, port }];
  });
}

const isEchoService = (of: { serviceName?: string | undefined; serviceNamespace?: string | undefined }): boolean => of.serviceName === 'echo' && of.serviceNamespace === 'roundsman-system';
const addressOf = ({ status }: Peer, family: 'v4' | 'v6'): string | undefined => status.addresses.find((address) => address.family === family)?.address;
const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);
