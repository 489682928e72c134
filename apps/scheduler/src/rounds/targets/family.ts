import { isIP } from 'node:net';

export type Family = 'v4' | 'v6';
export const families: readonly Family[] = ['v4', 'v6'];
export const familyNames: Readonly<Record<Family, string>> = { v4: 'IPv4', v6: 'IPv6' };

/** Of an IP address; undefined for a name. */
export function familyOf(address: string): Family | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 6 ? 'v6' : 'v4';
}

/** An address as the host of a URL. */
export const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);
