import ipaddr from 'ipaddr.js';
import { recordOf, type ResourceRecord } from '../wire/record.ts';

/** An A or AAAA record; nothing for what is no address. */
export function addressRecord(name: string, address: string, ttl: number): ResourceRecord[] {
  if (!ipaddr.isValid(address)) return [];
  const parsed = ipaddr.process(address);
  return [recordOf({ type: parsed.kind() === 'ipv4' ? 'A' : 'AAAA', name, ttl, data: parsed.toString() })];
}

/** `4.3.2.1.in-addr.arpa`, or the 32 digits of ip6.arpa; undefined for what is no address. */
export function reverseName(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return `${parsed.toByteArray().reverse().join('.')}.in-addr.arpa`;
  const digits = parsed.toByteArray().map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${[...digits].reverse().join('.')}.ip6.arpa`;
}

/** The address that such a name stands for; undefined when it stands for none, or for a range. */
export function addressOfReverse(name: string): string | undefined {
  if (name.endsWith('.in-addr.arpa')) {
    const text = name.slice(0, -'.in-addr.arpa'.length).split('.').reverse().join('.');
    return ipaddr.IPv4.isValidFourPartDecimal(text) ? text : undefined;
  }
  if (!name.endsWith('.ip6.arpa')) return undefined;
  const digits = name.slice(0, -'.ip6.arpa'.length).split('.').reverse();
  if (digits.length !== 32 || digits.some((digit) => !/^[0-9a-f]$/.test(digit))) return undefined;
  return ipaddr.fromByteArray(Array.from({ length: 16 }, (_, index) => Number.parseInt(digits[2 * index]! + digits[2 * index + 1]!, 16))).toString();
}

/** `1-2-3-4` or `fd00--1`: how an address is written in a label. */
export const dashed = (address: string): string => {
  const text = ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
  const label = text.replaceAll(/[.:]/g, '-');
  // A label neither begins nor ends in a dash.
  return `${label.startsWith('-') ? '0' : ''}${label}${label.endsWith('-') ? '0' : ''}`;
};

/** The address that a label stands for, of any spelling; undefined when it stands for none. */
export function addressOfLabel(label: string): string | undefined {
  const dotted = label.replaceAll('-', '.');
  if (ipaddr.IPv4.isValidFourPartDecimal(dotted)) return dotted;
  const colons = label.replaceAll('-', ':');
  return ipaddr.IPv6.isValid(colons) ? colons : undefined;
}
