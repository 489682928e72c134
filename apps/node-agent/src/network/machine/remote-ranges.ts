import { createHash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { nodeNetworkAnnotations } from '@roundsman/api';
import type { NetworkNode } from '@roundsman/network';

/** Pods of another machine: their range, and the address by which that machine is reached. */
export interface RemoteRange {
  readonly range: string;
  readonly machine: string;
}

export const machineAddressesOf = ({ annotations }: NetworkNode): readonly string[] => (annotations[nodeNetworkAnnotations.machine] ?? '').split(',').filter((address) => address !== '');

const sameFamily = (a: string, b: string): boolean => a.includes(':') === b.includes(':');

/** Nodes that have the machine's own address are its own. Those whose pods only their own machine reaches are left out. */
export function remoteRanges(nodes: readonly NetworkNode[], own: readonly string[]): RemoteRange[] {
  return nodes
    .filter(({ annotations }) => annotations[nodeNetworkAnnotations.mode] !== 'docker')
    .flatMap((node) => {
      const machines = machineAddressesOf(node);
      if (machines.some((address) => own.includes(address))) return [];
      return node.podCIDRs.flatMap((range) => {
        const machine = machines.find((address) => sameFamily(address, range)) ?? machines[0];
        return machine === undefined ? [] : [{ range, machine }];
      });
    })
    .toSorted((a, b) => (a.range < b.range ? -1 : 1));
}

/** Hardware address of the VXLAN device of a machine: everybody can work it out, so nothing has to be exchanged. Locally administered. */
export function vtepMac(machine: string): string {
  const bytes = isIPv4(machine) ? [0x52, ...machine.split('.').map(Number)] : [...createHash('sha256').update(machine).digest().subarray(0, 5)];
  return [0x0e, ...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

/** The link-local address that goes with a hardware address (RFC 4291, appendix A): next hop of IPv6 routes. */
export function linkLocalOf(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac.split(':').map((byte) => Number.parseInt(byte, 16));
  const pair = (high: number, low: number): string => ((high << 8) | low).toString(16);
  return `fe80::${pair(a ^ 2, b)}:${pair(c, 0xff)}:${pair(0xfe, d)}:${pair(e, f)}`;
}
