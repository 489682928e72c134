/** How a rule's path is compared. */
export type PathMatch = 'exact' | 'prefix';

/** Rules of one host by path. The first one given for a path and way of matching stays. */
export class PathRules<T> {
  readonly #exact = new Map<string, T>();
  /** By the prefix without slashes at its end: `` for `/`. */
  readonly #prefixes = new Map<string, T>();

  add(path: string, match: PathMatch, rule: T): void {
    const [of, key] = match === 'exact' ? [this.#exact, path] : [this.#prefixes, path.replace(/\/+$/, '')];
    if (!of.has(key)) of.set(key, rule);
  }

  /** An exact rule comes first, then the longest prefix, element by element. `path` is canonical. `matched` is the part that the rule covers, with no slash at its end. */
  find(path: string): { readonly rule: T; readonly matched: string } | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { rule: exact, matched: path };
    if (this.#prefixes.size === 0) return undefined;
    for (let at = path.length; at >= 0; at = path.lastIndexOf('/', at - 1)) {
      const matched = path.slice(0, at);
      const rule = this.#prefixes.get(matched);
      if (rule !== undefined) return { rule, matched };
      if (at === 0) return undefined;
    }
    return undefined;
  }
}
