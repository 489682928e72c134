import { isIP } from 'node:net';
import { parseResolvConf } from '../../containers/resolv-conf.ts';

export interface Server {
  readonly address: string;
  readonly port: number;
}

const dnsPort = 53;

/** `10.0.0.1`, `10.0.0.1:5353`, `fd00::1`, `[fd00::1]:5353`; undefined when it is none of these. */
export function parseServer(text: string): Server | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+|[^\]]*:[^\]]*:[^\]]*?))(?::(\d+))?$/.exec(text) ?? [];
  const address = isIP(text) !== 0 ? text : (bracketed ?? plain ?? '');
  const number = isIP(text) !== 0 || port === undefined ? dnsPort : Number(port);
  return isIP(address.replace(/%.*$/, '')) === 0 || number < 1 || number > 65_535 ? undefined : { address, port: number };
}

export const textOf = ({ address, port }: Server): string => `${address.includes(':') ? `[${address}]` : address}:${port}`;

/** The servers of a resolv.conf. */
export const serversOf = (resolvConf: string): Server[] => parseResolvConf(resolvConf).servers.flatMap((text) => parseServer(text) ?? []);

/** Without those that would lead back here: ourselves, and the addresses at which pods reach us. */
export function withoutLoops(servers: readonly Server[], own: readonly Server[], clusterDns: readonly string[]): Server[] {
  return servers.filter((server) => !own.some(({ address, port }) => address === server.address && port === server.port) && !(server.port === dnsPort && clusterDns.includes(server.address)));
}
