import type { NodeInfo } from '../cluster/node-info.ts';
import { labelOf } from './label-selector.ts';

/** Numbers by domain: nodes with the same value of a label (the topology key) are one. */
export class DomainCounts {
  readonly #counts = new Map<string, Map<string, number>>();

  /** Nodes without the label are in no domain. */
  add(node: NodeInfo, topologyKey: string, amount: number): void {
    const domain = labelOf(node.labels, topologyKey);
    if (domain === undefined) return;
    let counts = this.#counts.get(topologyKey);
    if (counts === undefined) this.#counts.set(topologyKey, (counts = new Map()));
    counts.set(domain, (counts.get(domain) ?? 0) + amount);
  }

  /** Of the domain that the node is in; 0 when it is in none. */
  of(node: NodeInfo, topologyKey: string): number {
    const domain = labelOf(node.labels, topologyKey);
    return domain === undefined ? 0 : (this.#counts.get(topologyKey)?.get(domain) ?? 0);
  }

  /** Domain -> amount, of one topology key. */
  domains(topologyKey: string): ReadonlyMap<string, number> {
    return this.#counts.get(topologyKey) ?? new Map<string, number>();
  }

  /** Topology keys that anything was added to. */
  get keys(): string[] {
    return [...this.#counts.keys()];
  }

  /** Over all domains and topology keys. */
  get total(): number {
    let total = 0;
    for (const counts of this.#counts.values()) for (const amount of counts.values()) total += amount;
    return total;
  }

  get empty(): boolean {
    return this.#counts.size === 0;
  }
}
