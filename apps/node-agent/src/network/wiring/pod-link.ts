import { isIPv4 } from 'node:net';
import type { Owner } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';
import { aliasOf, gatewayMac, gateways, routeProtocol, tagOf } from '../kernel/links.ts';
import { ip, ipAnyhow, namespaceOf, sysctl, type Step } from '../kernel/steps.ts';

/** A pod's connection: a veth pair between its namespace and that of its node. */
export interface PodLink {
  readonly owner: Owner;
  readonly podUid: string;
  /** A process in the pod's namespace. */
  readonly pid: number;
  readonly addresses: readonly string[];
  /** Where the node's end is. */
  readonly place: NetworkNamespace;
  /** Of the node: what it talks to the pod from. */
  readonly nodeAddresses: readonly string[];
  readonly mtu: number;
}

export const podLinkName = ({ cluster, node }: Owner, podUid: string): string => `rm${tagOf(cluster, node, podUid)}`;

/** The node's end of a link to an address: a route of the whole address, from the node's address of the same family. */
export const routeTo = (address: string, link: string, nodeAddresses: readonly string[]): string => {
  const from = nodeAddresses.find((one) => isIPv4(one) === isIPv4(address));
  return `route replace ${address} dev ${link} scope link${from === undefined ? '' : ` src ${from}`} proto ${routeProtocol}`;
};

/** The far end of a link: its addresses and the way out. `device` is there and up. */
export const wayOut = (device: string, addresses: readonly string[]): string[] =>
  addresses.flatMap((address) => {
    const v4 = isIPv4(address);
    const gateway = v4 ? gateways.IPv4 : gateways.IPv6;
    return [
      `addr replace ${address}/${v4 ? 32 : 128} dev ${device}${v4 ? '' : ' nodad'}`,
      ...(v4 ? [`route replace ${gateway} dev ${device} scope link`] : []),
      `neigh replace ${gateway} lladdr ${gatewayMac} dev ${device} nud permanent`,
      `route replace default via ${gateway} dev ${device} src ${address}`,
    ];
  });

/** In new namespaces of a daemon's IPv6 is off. */
export const withIPv6 = (addresses: readonly string[]): string => (addresses.some((address) => !isIPv4(address)) ? sysctl('ipv6/conf/all/disable_ipv6', '0') : ':');

/** Makes the link in place of one that was there: wherever its other end is, when the node had another place before. */
export function podLinkSteps({ owner, podUid, pid, addresses, place, nodeAddresses, mtu }: PodLink): Step[] {
  const name = podLinkName(owner, podUid);
  return [
    { in: namespaceOf(pid), script: ipAnyhow('link del eth0') },
    {
      in: place,
      script: [
        ipAnyhow(`link del ${name}`),
        ip(
          `link add ${name} mtu ${mtu} address ${gatewayMac} type veth peer name eth0 mtu ${mtu} netns ${pid}`,
          `link set ${name} alias ${aliasOf(owner, podUid)} up`,
          ...addresses.map((address) => routeTo(address, name, nodeAddresses)),
        ),
      ].join('\n'),
    },
    { in: namespaceOf(pid), script: [withIPv6(addresses), ip('link set lo up', 'link set eth0 up', ...wayOut('eth0', addresses))].join('\n') },
  ];
}
