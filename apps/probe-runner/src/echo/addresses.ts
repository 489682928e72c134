import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface Address {
  readonly family: 'v4' | 'v6';
  readonly address: string;
}

export const isUnspecified = (address: string): boolean => address === '0.0.0.0' || address === '::';
export const withFamily = (address: string): Address => ({ family: isIPv6(address) ? 'v6' : 'v4', address });

/** What stands for every address of this machine (or pod), also those that come later: of IPv6 only where the kernel has it. */
export function everyAddress(): string[] {
  const hasV6 = Object.values(networkInterfaces()).some((list) => list?.some(({ family }) => family === 'IPv6'));
  return hasV6 ? ['0.0.0.0', '::'] : ['0.0.0.0'];
}

/** Addresses of all interfaces that others can use as they are: neither loopback nor link-local. */
export function ownAddresses(): Address[] {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return own.filter(({ internal, address }) => !internal && !/^(fe[89ab].:|169\.254\.)/.test(address)).map(({ address }) => withFamily(address));
}

/** An address that others can use: for an unspecified one, the machine's first that is not loopback. */
export function reachable(address: string): Address {
  if (!isUnspecified(address)) return withFamily(address);
  const { family } = withFamily(address);
  return ownAddresses().find((own) => own.family === family) ?? { family, address: family === 'v6' ? '::1' : '127.0.0.1' };
}
