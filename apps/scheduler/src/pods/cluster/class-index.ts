import type { PlacedClass } from './cluster.ts';
import type { PodClass } from './pod-info.ts';

/** Where the pods of every class are. */
export class ClassIndex {
  readonly #all = new Map<string, { readonly class: PodClass; readonly nodes: Map<string, number> }>();
  readonly #withRules = new Map<string, PlacedClass>();

  all(): Iterable<PlacedClass> {
    return this.#all.values();
  }

  withRules(): Iterable<PlacedClass> {
    return this.#withRules.values();
  }

  /** `change`: 1 for a pod that comes, -1 for one that goes. */
  count(one: PodClass, node: string, change: 1 | -1): void {
    let placed = this.#all.get(one.key);
    if (placed === undefined) {
      placed = { class: one, nodes: new Map() };
      this.#all.set(one.key, placed);
      if (one.hasRules) this.#withRules.set(one.key, placed);
    }
    const pods = (placed.nodes.get(node) ?? 0) + change;
    if (pods !== 0) placed.nodes.set(node, pods);
    else placed.nodes.delete(node);
    if (placed.nodes.size > 0) return;
    this.#all.delete(one.key);
    this.#withRules.delete(one.key);
  }
}
