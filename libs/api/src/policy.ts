import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** Which addresses no probe may connect to. Judged on the resolved address that is connected to, never on the name. */
export interface PolicySettings {
  /** CIDR ranges that are denied besides `defaultDenied`. */
  deny?: readonly string[];
  /**
   * Address and port pairs: the product's own NATS and Postgres. A loopback or unspecified address stands for every
   * address of this machine with that port.
   */
  denyEndpoints?: readonly { address: string; port: number }[];
  /** CIDR ranges, addresses, or `address:port` (`[v6]:port`) that are open whatever is denied above. */
  allow?: readonly string[];
}

/** Cloud metadata lives on link-local addresses (and on one AWS unique-local address). */
export const defaultDenied = ['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128'] as const;

export interface Policy {
  /** Why this address may not be connected to; undefined when it may. */
  refusal(address: string, port: number): string | undefined;
}

/** Throws on a range, address or pair that cannot be read, naming it. */
export function compilePolicy(settings: PolicySettings = {}): Policy {
  const denied = [...new Set([...defaultDenied, ...(settings.deny ?? [])])].map((text) => ({ text, range: parseRange(text) }));
  const endpoints = (settings.denyEndpoints ?? []).map(({ address, port }) => {
    const parsed = parseAddress(address);
    if (parsed === undefined) throw new Error(`policy: denied endpoint "${address}" is not an IP address`);
    return { address: parsed, port };
  });
  const allowed = (settings.allow ?? []).map(parseAllow);
  return {
    refusal(text, port) {
      const address = parseAddress(text);
      if (address === undefined) return `${text} is not an IP address`;
      const faces = [address, ...embedded(address)];
      if (faces.some((face) => allowed.some((a) => within(face, a.range) && (a.port === undefined || a.port === port)))) return undefined;
      for (const face of faces) {
        const hit = denied.find(({ range }) => within(face, range));
        if (hit !== undefined) return `${text} is in ${hit.text}, which the target policy forbids`;
        if (endpoints.some((e) => e.port === port && sameHost(face, e.address))) return `${text}:${port} belongs to Roundsman itself, which the target policy forbids`;
      }
      return undefined;
    },
  };
}

/**
 * Reads an IP address in any notation that the resolver of the machine would accept (decimal, hexadecimal, octal, short
 * IPv4), IPv4-mapped IPv6 as the IPv4 it means. Undefined for a name.
 */
export function parseAddress(text: string): Address | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (!ipaddr.isValid(bare)) return undefined;
  return ipaddr.process(bare);
}

/** IPv4 addresses that an IPv6 address leads to through translation or tunnelling (NAT64, SIIT, 6to4, IPv4-compatible). */
function embedded(address: Address): ipaddr.IPv4[] {
  if (!(address instanceof ipaddr.IPv6)) return [];
  const p = address.parts;
  const v4 = (high: number, low: number): ipaddr.IPv4 => new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
  const range = address.range();
  if (range === 'rfc6052' || range === 'rfc6145') return [v4(p[6]!, p[7]!)];
  if (range === '6to4') return [v4(p[1]!, p[2]!)];
  if (p.slice(0, 6).every((part) => part === 0) && p[6] !== 0) return [v4(p[6]!, p[7]!)];
  return [];
}

function sameHost(address: Address, denied: Address): boolean {
  if (equal(address, denied)) return true;
  return isLocal(denied) && isLocal(address);
}

function isLocal(address: Address): boolean {
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((i) => {
    const own = parseAddress(i.address);
    return own !== undefined && equal(address, own);
  }));
}

/** Scope ids do not make another address. */
function equal(a: Address, b: Address): boolean {
  return a.kind() === b.kind() && a.toByteArray().every((byte, i) => byte === b.toByteArray()[i]);
}

function within(address: Address, [base, bits]: Range): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits);
  return base instanceof ipaddr.IPv6 && address.match(base, bits);
}

function parseRange(text: string): Range {
  const address = parseAddress(text);
  if (address !== undefined) return [address, address.kind() === 'ipv4' ? 32 : 128];
  try {
    return ipaddr.parseCIDR(text);
  } catch {
    throw new Error(`policy: "${text}" is neither an IP address nor a CIDR range`);
  }
}

function parseAllow(text: string): { range: Range; port?: number } {
  const pair = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text);
  if (pair === null) return { range: parseRange(text) };
  return { range: parseRange(pair[1]!), port: Number(pair[2]) };
}
