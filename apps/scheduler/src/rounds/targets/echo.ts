import { portOf, targetUrl, type DnsTarget, type HttpTarget } from '@roundsman/api';
import type { Peer } from './facts.ts';

/** The built-in service: any runner's echo target stands behind it. */
const names = new Set(['echo.roundsman-system.svc', 'echo.roundsman-system.svc.cluster.local']);
export const isEchoName = (name: string): boolean => names.has(name.toLowerCase().replace(/\.$/, ''));

/** The runner after this one in name order: with two or more runners never its own. */
export function echoPeer(self: string, peers: readonly Peer[]): Peer | undefined {
  return peers[(peers.findIndex(({ runner }) => runner === self) + 1) % peers.length];
}

/** Where the built-in name leads, on its two ports; on others it does not resolve, like a service without that port. */
export function echoConnect(host: string, echo: Peer | undefined): HttpTarget['connect'] {
  const { url } = targetUrl(host);
  if (url === undefined || !isEchoName(url.hostname)) return undefined;
  const servicePort = portOf(url);
  const behind = addressOf(echo, servicePort === 443 ? 'https' : servicePort === 80 ? 'http' : undefined);
  return behind === undefined ? undefined : { host: behind.address, port: behind.port };
}

/** Where the built-in name leads when it is asked as a DNS server. */
export function echoServer(server: string, port: number, echo: Peer | undefined): Pick<DnsTarget, 'server' | 'port' | 'serverName'> | undefined {
  if (!isEchoName(server)) return undefined;
  const behind = addressOf(echo, port === 853 ? 'dot' : port === 53 ? 'dns' : undefined);
  return behind === undefined ? undefined : { server: behind.address, port: behind.port, serverName: server };
}

function addressOf(echo: Peer | undefined, portName: string | undefined): { address: string; port: number } | undefined {
  const address = echo?.addresses?.[0];
  const port = portName === undefined ? undefined : echo?.ports?.[portName];
  return address === undefined || port === undefined ? undefined : { address, port };
}
