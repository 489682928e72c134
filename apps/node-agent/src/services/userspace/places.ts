import type { ForwardedPort } from '../forwarding/table.ts';
import type { PublishedPort } from '../host-ports.ts';
import type { Side } from './target.ts';

/** Where a port is to be answered. */
export interface WantedPlace {
  readonly protocol: 'TCP' | 'UDP';
  readonly address: string;
  readonly port: number;
  readonly side: Side;
}

/** Places of a Service's port. Where nobody would be found behind it, nobody answers: the kernel itself refuses then. */
export function placesOf(port: ForwardedPort, own: readonly string[]): WantedPlace[] {
  const { protocol, endpoints, localEndpoints, family } = port;
  if (protocol === 'SCTP' || endpoints.length === 0) return [];
  const inside = port.internalLocal && localEndpoints.length === 0 ? [] : [port.clusterIP];
  const place = (side: Side, number: number) => (address: string): WantedPlace => ({ protocol, address, port: number, side });
  return [
    ...inside.map(place('clusterIP', port.port)),
    ...port.externalIPs.map(place('external', port.port)),
    ...port.loadBalancerIPs.map(place('loadBalancer', port.port)),
    ...(port.nodePort === undefined ? [] : everywhere(protocol, family, own).map(place('external', port.nodePort))),
  ];
}

/** A host port is a Service of one endpoint. */
export function serviceOf({ podUid, protocol, hostIP, hostPort, address, containerPort }: PublishedPort): ForwardedPort {
  const endpoint = { address, port: containerPort };
  const anywhere = hostIP === '' || hostIP === '0.0.0.0' || hostIP === '::';
  return {
    key: `host-port/${podUid}/${hostIP}/${hostPort}/${protocol}/${address}`, family: address.includes(':') ? 'IPv6' : 'IPv4', protocol, port: hostPort, clusterIP: anywhere ? '' : hostIP, nodePort: anywhere ? hostPort : undefined,
    externalIPs: [], loadBalancerIPs: [], sourceRanges: [], affinitySeconds: undefined, endpoints: [endpoint], localEndpoints: [endpoint], serving: [endpoint], internalLocal: false, externalLocal: false,
  };
}

/** A datagram's answer must come from the address it was sent to, so each has a socket; a connection knows its own. */
const everywhere = (protocol: 'TCP' | 'UDP', family: ForwardedPort['family'], own: readonly string[]): readonly string[] =>
  protocol === 'UDP' ? own.filter((address) => address.includes(':') === (family === 'IPv6')) : [family === 'IPv6' ? '::' : '0.0.0.0'];
