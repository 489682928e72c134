import { indexIn, parseCidr } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import type { AnnouncedAddresses } from './announced-addresses.ts';
import { speakers } from './speaker.ts';

const gatherMs = 50;

/** Has a machine answer for the load balancer addresses of those nodes on it that are chosen for them. */
export class LoadBalancers {
  readonly #state: NetworkState;
  readonly #localNodes: () => ReadonlySet<string>;
  readonly #announced: AnnouncedAddresses;
  #unfollow: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(state: NetworkState, localNodes: () => ReadonlySet<string>, announced: AnnouncedAddresses) {
    this.#state = state;
    this.#localNodes = localNodes;
    this.#announced = announced;
  }

  start(): void {
    this.#unfollow = this.#state.onChange(() => (this.#timer ??= setTimeout(() => this.#look(), gatherMs)));
  }

  async stop(): Promise<void> {
    this.#unfollow();
    clearTimeout(this.#timer);
    await this.#announced.idle();
  }

  #look(): void {
    this.#timer = undefined;
    const { network } = this.#state;
    if (network === undefined) return;
    const local = this.#localNodes();
    const pool = network.loadBalancerCidrs.map(parseCidr);
    const mine = [...speakers(this.#state)].filter(([, node]) => local.has(node)).map(([address]) => address);
    void this.#announced.have(mine, (address) => pool.some((cidr) => indexIn(cidr, address) !== undefined));
  }
}
