import { indexIn, parseCidr } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import type { AnnouncedAddresses } from './announced-addresses.ts';
import { speakers } from './speaker.ts';

const gatherMs = 50;
/** Announced addresses end by themselves when nobody wants them any more. */
const renewEveryMs = 60_000;

/** Has a machine answer for the load balancer addresses of those nodes on it that are chosen for them. */
export class LoadBalancers {
  readonly #state: NetworkState;
  readonly #localNodes: () => ReadonlySet<string>;
  readonly #announced: AnnouncedAddresses;
  #unfollow: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(state: NetworkState, localNodes: () => ReadonlySet<string>, announced: AnnouncedAddresses) {
    this.#state = state;
    this.#localNodes = localNodes;
    this.#announced = announced;
  }

  start(): void {
    this.#unfollow = this.#state.onChange(() => (this.#timer ??= setTimeout(() => this.#look(false), gatherMs)));
    this.#renewal = setInterval(() => this.#look(true), renewEveryMs).unref();
    this.#look(false);
  }

  async stop(): Promise<void> {
    this.#unfollow();
    clearTimeout(this.#timer);
    clearInterval(this.#renewal);
    await this.#announced.idle();
  }

  #look(renew: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { network } = this.#state;
    if (network === undefined) return;
    const local = this.#localNodes();
    const pool = network.loadBalancerCidrs.map(parseCidr);
    const mine = [...speakers(this.#state)].filter(([, node]) => local.has(node)).map(([address]) => address);
    void this.#announced.have(mine, (address) => pool.some((cidr) => indexIn(cidr, address) !== undefined), renew);
  }
}
