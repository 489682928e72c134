import type { ForwardedPort } from '../forwarding/table.ts';
import { NftProblem } from './nft.ts';

/** Ports of Services that the kernel does not take, so that all others are forwarded without them. One is tried again when anything about it changes. */
export class RefusedPorts {
  readonly #why = new Map<string, string>();

  /** Those that are not known to be refused. What is known of ports that are no more is forgotten. */
  without(ports: readonly ForwardedPort[]): readonly ForwardedPort[] {
    if (this.#why.size === 0) return ports;
    const there = new Set<string>();
    const others = ports.filter((port) => {
      const key = JSON.stringify(port);
      there.add(key);
      return !this.#why.has(key);
    });
    for (const key of this.#why.keys()) if (!there.has(key)) this.#why.delete(key);
    return others;
  }

  /** Looks among these, by halves, for those that `check` rejects by themselves; whether there are any. */
  async find(ports: readonly ForwardedPort[], check: (ports: readonly ForwardedPort[]) => Promise<unknown>): Promise<boolean> {
    const problem = await check(ports).then(() => undefined, (error: unknown) => error);
    if (problem === undefined) return false;
    if (!(problem instanceof NftProblem) || problem.kind !== 'refused') throw problem;
    const [first] = ports;
    if (first === undefined) return false;
    if (ports.length === 1) {
      this.#why.set(JSON.stringify(first), `${first.key} is not forwarded: ${problem.message.split('\n')[0]}`);
      return true;
    }
    const middle = ports.length >> 1;
    const before = await this.find(ports.slice(0, middle), check);
    return (await this.find(ports.slice(middle), check)) || before;
  }

  get problems(): readonly string[] {
    return [...this.#why.values()];
  }
}
