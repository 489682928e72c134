import { isIPv4 } from 'node:net';
import type { Owner } from '@roundsman/containers';
import { aliasOf, gatewayMac, routeProtocol, tagOf } from '../kernel/links.ts';
import { here, ip, ipAnyhow, namespaceOf, sysctl, type Step } from '../kernel/steps.ts';
import { routeTo, wayOut, withIPv6 } from './pod-link.ts';

/** A node with a namespace of its own: how it is joined to the machine. */
export interface NodeLink {
  readonly owner: Owner;
  /** A process in the node's namespace. */
  readonly pid: number;
  /** One per range. */
  readonly nodeAddresses: readonly string[];
  readonly podCIDRs: readonly string[];
  /** Of the machine: what it talks to the node and its pods from. */
  readonly machineAddresses: readonly string[];
  readonly mtu: number;
}

export const nodeLinkName = ({ cluster, node }: Owner): string => `rn${tagOf(cluster, node)}`;

/** Packets to a pod that is not there: refused at once, instead of sent around. */
export const refuseStrays = (podCIDRs: readonly string[]): string[] => podCIDRs.map((range) => `route replace ${strays(range)}`);
export const strays = (range: string): string => `unreachable ${range} metric 4096 proto ${routeProtocol}`;

/** What comes by the link may leave by it, to another node: there is no shorter way to tell the sender of. */
const noRedirects = ['all', 'default', 'eth0'].map((device) => sysctl(`ipv4/conf/${device}/send_redirects`, '0'));
export const forwarding: string = [sysctl('ipv4/ip_forward', '1'), sysctl('ipv6/conf/all/forwarding', '1'), ...noRedirects].join('\n');

/** On the machine: the node itself by its link, its pods by the node. */
export const routesToNode = ({ owner, nodeAddresses, podCIDRs, machineAddresses }: Omit<NodeLink, 'pid' | 'mtu'>): string[] =>
  nodeAddresses.flatMap((address, index) => {
    const own = machineAddresses.find((one) => isIPv4(one) === isIPv4(address));
    const from = own === undefined ? '' : ` src ${own}`;
    return [
      routeTo(address, nodeLinkName(owner), machineAddresses),
      `route replace ${podCIDRs[index] ?? ''} via ${address} dev ${nodeLinkName(owner)} onlink${from} proto ${routeProtocol}`,
    ];
  });

/** `connected`: the link is there. Else it is made from nothing: one of this name goes first. All that goes with it is told in either case: whoever made it may not have come to that. */
export function nodeLinkSteps(link: NodeLink, connected: boolean): Step[] {
  const { owner, pid, nodeAddresses, podCIDRs, mtu } = link;
  const name = nodeLinkName(owner);
  const made = [ipAnyhow(`link del ${name}`), ip(`link add ${name} mtu ${mtu} address ${gatewayMac} type veth peer name eth0 mtu ${mtu} netns ${pid}`, `link set ${name} alias ${aliasOf(owner, 'node')} up`)];
  return [
    // Where it is there it stays as it is: somebody may have set it down.
    ...(connected ? [] : [{ in: here, script: made.join('\n') }]),
    { in: namespaceOf(pid), script: [forwarding, withIPv6(nodeAddresses), ip('link set lo up', 'link set eth0 up', ...wayOut('eth0', nodeAddresses), ...refuseStrays(podCIDRs))].join('\n') },
    { in: here, script: ip(...routesToNode(link)) },
  ];
}
