import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

const typeOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Addresses in any of these CIDR ranges. */
export function rangesOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix = ''] = cidr.split('/');
    list.addSubnet(address, Number(prefix), typeOf(address));
  }
  return list;
}

export const holds = (list: BlockList, address: string): boolean => list.check(address, typeOf(address));

/** `::ffff:10.0.0.1` and `fe80::1%eth0` as others write them. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');

/** Addresses of this namespace but loopback and link-local ones. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((infos) => (infos ?? []).filter(({ address, internal }) => !internal && !/^fe80:/i.test(address)).map(({ address }) => address));
