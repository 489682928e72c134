import type { NetworkState } from '@roundsman/network';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Ranges that no packet from the internet comes from. */
const inner = new Set(['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat']);
const remembered = 4_096;

/**
 * Whose questions are answered: those of the nodes, and all from ranges that are only used within networks, as pods are. A machine with an address on the internet
 * must not answer everybody there: answers are larger than questions, and their sender is easily forged.
 */
export class Clients {
  readonly #state: NetworkState;
  readonly #own: readonly string[];
  readonly #known = new LRUCache<string, boolean>({ max: remembered });
  readonly #unfollow: () => void;

  /** `own`: addresses of this machine. */
  constructor(state: NetworkState, own: readonly string[]) {
    this.#state = state;
    this.#own = own;
    this.#unfollow = state.onChange(({ resource }) => {
      if (resource === 'nodes' || resource === 'network') this.#known.clear();
    });
  }

  close(): void {
    this.#unfollow();
  }

  admits(address: string): boolean {
    let admitted = this.#known.get(address);
    if (admitted === undefined) {
      admitted = this.#look(address);
      this.#known.set(address, admitted);
    }
    return admitted;
  }

  #look(text: string): boolean {
    const plain = text.replace(/%.*$/, '');
    if (!ipaddr.isValid(plain)) return false;
    const address = ipaddr.process(plain);
    if (inner.has(address.range()) || this.#own.includes(address.toString())) return true;
    if (this.#state.nodes().some((node) => node.addresses.some((one) => one.address === address.toString()))) return true;
    return [...(this.#state.network?.podCidrs ?? []), ...this.#state.nodes().flatMap(({ podCIDRs }) => podCIDRs)].some((range) => {
      const [base, prefix] = ipaddr.parseCIDR(range);
      return base.kind() === address.kind() && address.match(base, prefix);
    });
  }
}
