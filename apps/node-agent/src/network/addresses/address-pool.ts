import { addressAt, indexIn, parseCidr, type Cidr } from '@roundsman/api';

/** Every address of the node's ranges is in use. */
export class AddressesExhausted extends Error {
  override readonly name = 'AddressesExhausted';
}

/** Not given to pods: the address of the range itself and, after it, that of the node. */
const firstPlace = 2n;

/** The node's own address in its range: the first that hosts may have. */
export const nodeAddressIn = (range: string): string => addressAt(parseCidr(range), 1n);

/**
 * The addresses of a node's pods: one of each of its ranges, never to two owners at once, and given again as late as can be (next fit), so that who still
 * talks to a pod that is gone does not talk to another one.
 */
export class AddressPool {
  #ranges: readonly Cidr[] = [];
  #places: bigint[] = [];
  readonly #owned = new Map<string, readonly string[]>();
  readonly #ownerOf = new Map<string, string>();

  /** Those that are given from now on; what is in use stays so. Whether it had others before. */
  use(ranges: readonly string[]): boolean {
    if (ranges.join() === this.ranges.join()) return false;
    const had = this.#ranges.length > 0;
    this.#ranges = ranges.map(parseCidr);
    this.#places = this.#ranges.map(() => firstPlace);
    return had;
  }

  get ranges(): readonly string[] {
    return this.#ranges.map(({ text }) => text);
  }

  /** Whether these are addresses as this pool gives them now, one of each range. */
  covers(addresses: readonly string[]): boolean {
    return addresses.length === this.#ranges.length && this.#ranges.every((range, index) => this.#isGiven(range, indexIn(range, addresses[index] ?? '')));
  }

  /** Whether the owner has these, and they are of the ranges of now, as far as they are known. */
  keeps(owner: string, addresses: readonly string[]): boolean {
    return this.of(owner).join() === addresses.join() && (this.#ranges.length === 0 || this.covers(addresses));
  }

  of(owner: string): readonly string[] {
    return this.#owned.get(owner) ?? [];
  }

  /** What the owner has; else those it had before, while nobody has them; else the next free ones. */
  take(owner: string, before: readonly string[] = []): readonly string[] {
    const has = this.#owned.get(owner);
    if (has !== undefined && this.covers(has)) return has;
    this.release(owner);
    if (this.covers(before) && this.claim(owner, before)) return before;
    const found = this.#ranges.map((range, index) => this.#next(range, this.#places[index] ?? firstPlace));
    for (const [index, place] of found.entries()) this.#places[index] = place + 1n;
    const addresses = found.map((place, index) => addressAt(this.#ranges[index] as Cidr, place));
    this.claim(owner, addresses);
    return addresses;
  }

  /** They are in use by this owner; false, and nothing changes, when another one has any of them. */
  claim(owner: string, addresses: readonly string[]): boolean {
    if (addresses.some((address) => (this.#ownerOf.get(address) ?? owner) !== owner)) return false;
    this.release(owner);
    this.#owned.set(owner, addresses);
    for (const address of addresses) this.#ownerOf.set(address, owner);
    for (const [index, range] of this.#ranges.entries()) {
      const place = indexIn(range, addresses[index] ?? '');
      if (place !== undefined && place >= (this.#places[index] ?? firstPlace)) this.#places[index] = place + 1n;
    }
    return true;
  }

  release(owner: string): void {
    for (const address of this.#owned.get(owner) ?? []) this.#ownerOf.delete(address);
    this.#owned.delete(owner);
  }

  #next(range: Cidr, start: bigint): bigint {
    // The last one of an IPv4 range is its broadcast address.
    const count = range.size - firstPlace - (range.family === 'IPv4' ? 1n : 0n);
    for (let tried = 0n; tried < count; tried += 1n) {
      const place = firstPlace + ((start - firstPlace + tried) % count);
      if (!this.#ownerOf.has(addressAt(range, place))) return place;
    }
    throw new AddressesExhausted(`no free address for the pod: all ${count} of the node's range ${range.text} are in use`);
  }

  #isGiven({ size, family }: Cidr, place: bigint | undefined): boolean {
    return place !== undefined && place >= firstPlace && place < size - (family === 'IPv4' ? 1n : 0n);
  }
}
