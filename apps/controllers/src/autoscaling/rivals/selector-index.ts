import { labelSelectorText, matchesLabels, requirementsOf, type LabelRequirement, type LabelSelector } from '@roundsman/api';

type Labels = Readonly<Record<string, string>>;

interface Entry {
  readonly requirements: readonly LabelRequirement[];
  /** Where it is found. */
  readonly pairs: readonly string[];
  /** By uid of its owner: the owner's name. */
  readonly owners: Map<string, string>;
}

/** Of selectors that name no value of any label. */
const anywhere = '';
const pairOf = (key: string, value: string): string => `${key}=${value}`;

/** Owners of selectors, found by the labels that these choose: each selector is looked at only for labels of which it wants one, so thousands that choose different things cost no more than one. */
export class SelectorIndex {
  /** By its text: equal ones are one. */
  readonly #entries = new Map<string, Entry>();
  readonly #byPair = new Map<string, Set<Entry>>();
  /** By uid: the text of its selector. */
  readonly #owned = new Map<string, string>();

  get size(): number {
    return this.#owned.size;
  }

  /** In the place of the selector that the owner had. An absent one chooses nothing. */
  put(uid: string, name: string, selector: LabelSelector | undefined): void {
    const text = selector === undefined ? undefined : labelSelectorText(selector);
    if (text === undefined || this.#owned.get(uid) !== text) this.remove(uid);
    if (selector === undefined || text === undefined) return;
    this.#owned.set(uid, text);
    let entry = this.#entries.get(text);
    if (entry === undefined) {
      const requirements = requirementsOf(selector);
      entry = { requirements, pairs: this.#pairsOf(requirements), owners: new Map() };
      this.#entries.set(text, entry);
      for (const pair of entry.pairs) this.#byPair.set(pair, (this.#byPair.get(pair) ?? new Set()).add(entry));
    }
    entry.owners.set(uid, name);
  }

  remove(uid: string): void {
    const text = this.#owned.get(uid);
    const entry = text === undefined ? undefined : this.#entries.get(text);
    if (text === undefined || entry === undefined) return;
    this.#owned.delete(uid);
    entry.owners.delete(uid);
    if (entry.owners.size > 0) return;
    this.#entries.delete(text);
    for (const pair of entry.pairs) {
      const entries = this.#byPair.get(pair);
      entries?.delete(entry);
      if (entries?.size === 0) this.#byPair.delete(pair);
    }
  }

  /** Names of the owners whose selectors choose one of these, in order. */
  choosing(all: Iterable<Labels | undefined>): string[] {
    const found = new Set<Entry>();
    for (const labels of all) {
      for (const pair of [anywhere, ...Object.entries(labels ?? {}).map(([key, value]) => pairOf(key, value))]) {
        for (const entry of this.#byPair.get(pair) ?? []) if (!found.has(entry) && matchesLabels(entry.requirements, labels)) found.add(entry);
      }
    }
    return [...found].flatMap(({ owners }) => [...owners.values()]).sort();
  }

  /** The requirement that the fewest others are found by: many selectors may have a label in common. */
  #pairsOf(requirements: readonly LabelRequirement[]): readonly string[] {
    const choices = requirements.filter(({ operator }) => operator === 'in').map(({ key, values }) => values.map((value) => pairOf(key, value)));
    const crowd = (pairs: readonly string[]): number => pairs.reduce((sum, pair) => sum + (this.#byPair.get(pair)?.size ?? 0), 0);
    return choices.length === 0 ? [anywhere] : choices.reduce((a, b) => (crowd(b) < crowd(a) ? b : a));
  }
}
