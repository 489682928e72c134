import { createHash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { parseCidr, addressAt } from '@roundsman/api';
import { aliasOf, routeProtocol, tagOf } from '../kernel/links.ts';
import { ip, ipAnyhow, sysctl } from '../kernel/steps.ts';
import { linkLocalOf, vtepMac, type RemoteRange } from './remote-ranges.ts';

/** As Linux and flannel have it: that of the standard may be Docker's. */
const port = 8472;

/** What it puts around a packet: Ethernet, IP, UDP and its own header. */
export const vxlanBytes = { IPv4: 50, IPv6: 70 } as const;

export interface VxlanDevice {
  readonly cluster: string;
  /** Of this machine, on the network that the others are on. */
  readonly local: string;
  readonly mtu: number;
  /** Ranges of a node of this machine: the first address of each, which no pod has, is the machine's where it talks to pods elsewhere. */
  readonly podCIDRs: readonly string[];
}

export const vxlanName = (cluster: string): string => `rv${tagOf(cluster)}`;
/** The same on all machines of a cluster; two clusters on one network differ by chance. */
const identifier = (cluster: string): number => (createHash('sha256').update(cluster).digest().readUIntBE(0, 3) || 1) & 0xff_ffff;
export const vxlanAlias = ({ cluster, local }: VxlanDevice): string => aliasOf({ cluster, node: '' }, `vxlan ${local}`);
const ownAddress = (range: string): string => addressAt(parseCidr(range), 0n);

export const makeVxlan = (device: VxlanDevice): string => {
  const { cluster, local, mtu } = device;
  const name = vxlanName(cluster);
  return [
    ipAnyhow(`link del ${name}`),
    ip(`link add ${name} mtu ${mtu} address ${vtepMac(local)} type vxlan id ${identifier(cluster)} dstport ${port} local ${local} nolearning`, `link set ${name} alias "${vxlanAlias(device)}"`, `link set ${name} up`),
    // A machine may be talked to by this way and answer by another.
    sysctl(`ipv4/conf/${name}/rp_filter`, '2'),
  ].join('\n');
};

export const vxlanAddresses = ({ cluster, podCIDRs }: VxlanDevice): string => ip(...podCIDRs.map((range) => `addr replace ${ownAddress(range)}/${range.includes(':') ? '128' : '32'} dev ${vxlanName(cluster)}`));

/** Ways to machines and to the ranges behind them; neighbours are written down, so nobody is asked for them. */
export function vxlanRoutes({ cluster, podCIDRs }: VxlanDevice, remotes: readonly RemoteRange[]): string {
  const name = vxlanName(cluster);
  const machines = [...new Set(remotes.map(({ machine }) => machine))];
  const nextHop = ({ range, machine }: RemoteRange): string => (isIPv4(machine) && !range.includes(':') ? machine : linkLocalOf(vtepMac(machine)));
  const from = (range: string): string => {
    const own = podCIDRs.find((one) => one.includes(':') === range.includes(':'));
    return own === undefined ? '' : ` src ${ownAddress(own)}`;
  };
  return [
    `bridge -batch - <<'FDB'\n${machines.map((machine) => `fdb replace ${vtepMac(machine)} dev ${name} self permanent dst ${machine}`).join('\n')}\nFDB`,
    ip(
      ...remotes.flatMap((remote) => [
        `neigh replace ${nextHop(remote)} lladdr ${vtepMac(remote.machine)} dev ${name} nud permanent`,
        `route replace ${remote.range} via ${nextHop(remote)} dev ${name} onlink${from(remote.range)} proto ${routeProtocol}`,
      ]),
    ),
  ].join('\n');
}
