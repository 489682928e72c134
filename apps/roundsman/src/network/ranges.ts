import { addressAt, indexIn, overlaps, parseCidr, type Cidr } from '@roundsman/api';
import { z } from 'zod';
import { UserError } from '../user-error.ts';

const ranges = z.string().describe('CIDR ranges, one per family, separated by commas');

/** The addresses of the cluster that a home is, and how its machines reach each other's pods; decided when it is started for the first time. */
export const networkChoiceSchema = z.object({ podCidr: ranges, serviceCidr: ranges, loadBalancerCidr: ranges, backend: z.enum(['host-gw', 'vxlan']) });
export type NetworkChoice = z.infer<typeof networkChoiceSchema>;
type RangeName = 'podCidr' | 'serviceCidr' | 'loadBalancerCidr';

const flags: Readonly<Record<RangeName, string>> = { podCidr: '--pod-cidr', serviceCidr: '--service-cidr', loadBalancerCidr: '--load-balancer-cidr' };
const numbers = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** In order: the first that nothing of the machine overlaps is taken. Private ranges (RFC 1918), then those of carriers (RFC 6598). */
const candidates: Readonly<Record<RangeName, readonly string[]>> = {
  podCidr: [...numbers(244, 254).map((second) => `10.${second}.0.0/16`), ...numbers(26, 31).map((second) => `172.${second}.0.0/16`), ...numbers(100, 110).map((second) => `100.${second}.0.0/16`)],
  serviceCidr: ['10.96.0.0/16', ...numbers(98, 110).map((second) => `10.${second}.0.0/16`), ...numbers(20, 25).map((second) => `172.${second}.0.0/16`), ...numbers(112, 120).map((second) => `100.${second}.0.0/16`)],
  loadBalancerCidr: [...numbers(0, 9).map((third) => `10.97.${third}.0/24`), ...numbers(0, 9).map((third) => `172.19.${third}.0/24`), ...numbers(0, 9).map((third) => `100.121.${third}.0/24`)],
};

/**
 * What was asked for by hand, else what the home has, else the first ranges that are free here. `taken`: destinations and networks of this machine. Throws
 * UserError for a range asked for that is none, or that overlaps something.
 */
export function chooseRanges(asked: Partial<NetworkChoice>, kept: NetworkChoice | undefined, taken: readonly string[]): NetworkChoice {
  const used = taken.flatMap(parsed).filter(({ prefix }) => prefix > 0);
  const chosen: { readonly name: RangeName; readonly cidr: Cidr }[] = [];
  const conflict = (cidr: Cidr): string | undefined => {
    const other = chosen.find((one) => overlaps(one.cidr, cidr));
    if (other !== undefined) return `overlaps ${other.cidr.text}, the range of ${flags[other.name]}`;
    const here = used.find((one) => overlaps(one, cidr));
    return here === undefined ? undefined : `overlaps ${here.text}, which this machine has a route or an interface to`;
  };
  const result: Partial<Record<RangeName, string>> = {};
  const names = Object.keys(flags) as RangeName[];
  const fixed = (name: RangeName): string | undefined => asked[name] ?? kept?.[name];
  // Those that are certain go first: what is free is what they leave.
  for (const name of names.toSorted((a, b) => Number(fixed(a) === undefined) - Number(fixed(b) === undefined))) {
    const text = fixed(name) ?? candidates[name].find((candidate) => conflict(parseCidr(candidate)) === undefined);
    if (text === undefined) throw new UserError(`no range is free on this machine for ${flags[name]}`, `Give one: roundsman up ${flags[name]} <range>`);
    for (const part of text === 'none' ? [] : text.split(',')) {
      const cidr = asRange(flags[name], part.trim());
      const problem = asked[name] === undefined || asked[name] === kept?.[name] ? undefined : conflict(cidr);
      if (problem !== undefined) throw new UserError(`${flags[name]} ${text}: ${cidr.text} ${problem}`, 'Give another range, or leave the flag out: a free one is chosen.', { exitCode: 2 });
      chosen.push({ name, cidr });
    }
    result[name] = text;
  }
  return { podCidr: result.podCidr!, serviceCidr: result.serviceCidr!, loadBalancerCidr: result.loadBalancerCidr!, backend: asked.backend ?? kept?.backend ?? 'host-gw' };
}

function asRange(flag: string, text: string): Cidr {
  try {
    return parseCidr(text);
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, undefined, { exitCode: 2, cause: error });
  }
}

/** The network that an address with a prefix lies in: interfaces tell their own address. Nothing where it is none. */
function parsed(text: string): Cidr[] {
  const [address = '', prefix = ''] = text.split('/');
  const all = parseCidr(address.includes(':') ? '::/0' : '0.0.0.0/0');
  const bits = all.family === 'IPv6' ? 128 : 32;
  const place = indexIn(all, address);
  if (place === undefined || !/^\d+$/.test(prefix) || Number(prefix) > bits) return [];
  const size = 1n << BigInt(bits - Number(prefix));
  return [parseCidr(`${addressAt(all, place - (place % size))}/${prefix}`)];
}
