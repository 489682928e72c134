import { overlaps, subnetAt, type Cidr } from '@roundsman/api';

/** How many subnets of a prefix a range has. */
export const subnetCount = (range: Cidr, prefix: number): number => 2 ** (prefix - range.prefix);

/**
 * The first subnet from number `from` on, round the end of the range, that overlaps with none of those in use; undefined when none is left. Next fit: what has become free
 * is given again as late as possible, for others may go on believing in it for a while.
 */
export function freeSubnet(range: Cidr, prefix: number, used: readonly Cidr[], from: number): { readonly cidr: Cidr; readonly index: number } | undefined {
  const count = subnetCount(range, prefix);
  const size = range.size / BigInt(count);
  const within = used.filter((one) => overlaps(one, range));
  for (let tried = 0, index = from % count; tried < count; ) {
    const cidr = subnetAt(range, prefix, index);
    const taken = within.find((one) => overlaps(one, cidr));
    if (taken === undefined) return { cidr, index };
    // Behind it: it may be as large as many.
    const end = taken.base + taken.size - range.base;
    const next = Math.min(count, Math.max(index + 1, Number((end + size - 1n) / size)));
    tried += next - index;
    index = next === count ? 0 : next;
  }
  return undefined;
}
