/** Name of the host in a Host header: in lower case, without port and final dot. Empty for none. */
export function hostName(header: string | undefined): string {
  const host = (header ?? '').trim().toLowerCase();
  const name = host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : host.replace(/:\d*$/, '');
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** `*.example.org` for `shop.example.org`: a wildcard stands for exactly one label. */
export function wildcardOf(name: string): string | undefined {
  const dot = name.indexOf('.');
  return dot > 0 ? `*${name.slice(dot)}` : undefined;
}

/** What is kept by host, found by name: the exact host, else its wildcard, else what is for all hosts (kept as ``). */
export class Hosts<T> {
  readonly #byHost = new Map<string, T>();

  get(host: string): T | undefined {
    return this.#byHost.get(host);
  }

  set(host: string, value: T): void {
    this.#byHost.set(host, value);
  }

  find(name: string): T | undefined {
    return this.findNamed(name) ?? this.#byHost.get('');
  }

  /** As `find`, without what is for all hosts. */
  findNamed(name: string): T | undefined {
    if (name === '') return undefined;
    const exact = this.#byHost.get(name);
    if (exact !== undefined) return exact;
    const wildcard = wildcardOf(name);
    return wildcard === undefined ? undefined : this.#byHost.get(wildcard);
  }
}
