import type { DnsTarget, NetDnsSpec, RoundSpec } from '@roundsman/api';
import { echoServer } from './echo.ts';
import type { Coverage, Peer, Reasons } from './facts.ts';
import { families, familyNames, familyOf, inUrl, type Family } from './family.ts';
import { targetId } from './target-id.ts';

type Found = NonNullable<RoundSpec['dnsServers']>[number];

/** The server that a NetDNS names, or those that were found for its `targetDns`: each address and port once, in a fixed order. */
export function netDns(spec: NetDnsSpec, found: readonly Found[], echo: Peer | undefined, reasons: Reasons): Coverage<DnsTarget> {
  const { targetUser, targetDns } = spec.target;
  if (targetUser !== undefined) {
    const server = targetUser.server.replace(/^\[|\]$/g, '');
    return { targets: [targetOf(spec, server, targetUser.port, echoServer(server, targetUser.port, echo))], gaps: [] };
  }
  if (targetDns === undefined) return { targets: [], gaps: [] };
  const asked = families.filter((family) => (family === 'v4' ? targetDns.testIPv4 : targetDns.testIPv6));
  const byFamily = (family: Family): Found[] => found.filter(({ address }) => familyOf(address) === family);
  const targets = asked.flatMap(byFamily).map(({ address, port }) => targetOf(spec, address, port, undefined));
  const gaps = asked.filter((family) => byFamily(family).length === 0).map((family) => `spec.target.targetDns over ${familyNames[family]}: no DNS server with such an address${because(reasons.dnsServers)}`);
  return { targets: [...new Map(targets.map((target) => [target.id, target])).values()].sort((a, b) => (a.id < b.id ? -1 : 1)), gaps };
}

function targetOf({ target, request }: NetDnsSpec, server: string, port: number, behind: ReturnType<typeof echoServer>): DnsTarget {
  const family = familyOf(server);
  const recordType = request.recordType ?? (family === 'v6' ? 'AAAA' : 'A');
  return {
    id: targetId(`dns/${request.protocol}/${inUrl(server)}:${port}/${recordType}/${request.domain}`),
    layer: 'dns',
    ...(family === undefined ? {} : { family }),
    probe: 'dns',
    ...(behind ?? { server, port }),
    protocol: request.protocol,
    domain: request.domain,
    recordType,
    hasTls: target.tlsSecretName !== undefined,
  };
}

const because = (why: string | undefined): string => (why === undefined ? '' : `: ${why}`);
