import { isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Cause } from '../kind.ts';
import { invalidValue } from './causes.ts';

/** Nothing, or that a text is no IP address. */
export const ipCauses = (field: string, text: string): Cause[] => (isAddress(text) ? [] : [invalidValue(field, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]);

/** Nothing, or that a text is no range of addresses. */
export function cidrCauses(field: string, text: string): Cause[] {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const good = rest.length === 0 && isAddress(address) && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv4(address) ? 32 : 128);
  return good ? [] : [invalidValue(field, text, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')];
}

/** Nothing, or that an address means something on every machine, and so cannot be that of one. */
export function specialIpCauses(field: string, text: string): Cause[] {
  if (!isAddress(text)) return [invalidValue(field, text, 'must be a valid IP address')];
  const special = specialRanges[ipaddr.process(text).range()];
  const linkLocalMulticast = /^224\.0\.0\.\d+$|^ff.2:/i.test(text);
  if (special !== undefined) return [invalidValue(field, text, special.replace('%s', text))];
  return linkLocalMulticast ? [invalidValue(field, text, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')] : [];
}

const specialRanges: Readonly<Record<string, string>> = {
  loopback: 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  linkLocal: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  unspecified: 'may not be unspecified (%s)',
};

/** Nothing, or that an IPv6 address is not written as everybody writes it: who compares texts takes it for another one. */
export function ipWarnings(field: string, text: string): string[] {
  if (!isIPv6(text) || !isAddress(text)) return [];
  const canonical = ipaddr.IPv6.parse(text).toRFC5952String();
  return canonical === text ? [] : [`${field}: IPv6 address ${JSON.stringify(text)} is not in RFC 5952 canonical format (${JSON.stringify(canonical)}), which may cause controller apply-loops`];
}

export const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%');
export const isIPv6Text = (text: string): boolean => isIPv6(text);
