import { addressAt, indexIn, type Cidr, type Service } from '@roundsman/api';

/** Addresses that a Service wants, one per family, separated by commas; `spec.loadBalancerIP` is the same for one. */
export const addressesAnnotation = 'roundsman.io/load-balancer-addresses';

/** No address can be given; the message says why, and what to do. */
export class NoAddress extends Error {
  override readonly name = 'NoAddress';
}

/** Addresses that are not to be given, each with who has it (`namespace/name`). */
export type Taken = ReadonlyMap<string, string>;

export const heldBy = ({ status }: Service): string[] => (status?.loadBalancer.ingress ?? []).flatMap(({ ip }) => ip ?? []);

/**
 * One address for each family of the service that the pool has: those it asks for, those it has, else free ones. All of them or none: throws NoAddress.
 * `from`: where to look in each range of the pool, so that what was released is given again late.
 */
export function addressesFor(service: Service, pool: readonly Cidr[], taken: Taken, from: (range: Cidr) => bigint): string[] {
  const families = service.spec.ipFamilies ?? ['IPv4'];
  if (pool.length === 0) throw new NoAddress('the cluster has no pool of load balancer addresses; give it one, or reach the service by its node ports');
  const asked = askedBy(service);
  const stray = asked.find((address) => !pool.some((range) => families.includes(range.family) && indexIn(range, address) !== undefined));
  if (stray !== undefined) throw new NoAddress(`the address ${stray} that it asks for is not in the pool of load balancer addresses (${textOf(pool)}), or not of a family of the service (${families.join(', ')})`);
  const found = families.flatMap((family): string[] => {
    const ranges = pool.filter((range) => range.family === family);
    const within = (address: string): boolean => ranges.some((range) => indexIn(range, address) !== undefined);
    const wanted = asked.filter(within);
    if (wanted.length > 1) throw new NoAddress(`it asks for several addresses of one family (${wanted.join(', ')})`);
    if (wanted[0] !== undefined) return [freeOnly(wanted[0], taken)];
    const held = heldBy(service).find((address) => within(address) && !taken.has(address));
    return ranges.length === 0 ? [] : [held ?? nextFree(ranges, taken, from)];
  });
  if (found.length === 0) throw new NoAddress(`the pool of load balancer addresses (${textOf(pool)}) has none of the families of the service (${families.join(', ')})`);
  return found;
}

function askedBy({ metadata, spec }: Service): string[] {
  const listed = (metadata.annotations?.[addressesAnnotation] ?? '').split(',').map((one) => one.trim()).filter((one) => one !== '');
  return listed.length > 0 ? listed : spec.loadBalancerIP === undefined || spec.loadBalancerIP === '' ? [] : [spec.loadBalancerIP];
}

function freeOnly(address: string, taken: Taken): string {
  const owner = taken.get(address);
  if (owner !== undefined) throw new NoAddress(`the address ${address} that it asks for is that of Service ${owner}`);
  return address;
}

function nextFree(ranges: readonly Cidr[], taken: Taken, from: (range: Cidr) => bigint): string {
  for (const range of ranges) {
    const { first, last } = usable(range);
    const count = last - first + 1n;
    const start = from(range);
    // Of so many one is free, if any is.
    const tries = count < BigInt(taken.size) + 1n ? count : BigInt(taken.size) + 1n;
    for (let step = 0n; step < tries; step++) {
      const address = addressAt(range, first + ((start - first + step) % count + count) % count);
      if (!taken.has(address)) return address;
    }
  }
  throw new NoAddress(`all addresses of the pool of load balancer addresses (${textOf(ranges)}) are given; delete a service that needs its own no more, or give the cluster a larger pool`);
}

/** Neither the network's own address nor the one that means all: some programs refuse them. */
function usable({ size }: Cidr): { first: bigint; last: bigint } {
  return size < 4n ? { first: 0n, last: size - 1n } : { first: 1n, last: size - 2n };
}

const textOf = (pool: readonly Cidr[]): string => pool.map(({ text }) => text).join(', ');
