/** What one table of nftables holds, as text of its language. Names are unique over chains and collections alike. */
export interface Ruleset {
  readonly chains: ReadonlyMap<string, Chain>;
  readonly collections: ReadonlyMap<string, Collection>;
}

export interface Chain {
  /** `type nat hook prerouting priority dstnat`; undefined: entered from other chains only. */
  readonly hook?: string;
  readonly rules: readonly string[];
}

/** A set or a map. Its definition never changes: what it depends on is part of its name. */
export interface Collection {
  readonly type: 'set' | 'map';
  readonly definition: string;
  /** By key: what follows it, as ` comment "why" : 10.0.0.1 . 80` in a map, and nothing in a set. Undefined: packets fill it, and what is in it stays. */
  readonly elements: ReadonlyMap<string, string> | undefined;
}

/** Names in the kernel, to begin with: what is there may hold anything. */
export interface Existing {
  readonly chains: ReadonlySet<string>;
  readonly collections: ReadonlySet<string>;
}

/** The transaction that leads from one ruleset to the next: only what differs. Empty when nothing does. */
export function difference(table: string, before: Ruleset, after: Ruleset): string {
  const lines: string[] = [];
  for (const [name, { type, definition }] of after.collections) if (!before.collections.has(name)) lines.push(`add ${type} ${table} ${name} { ${definition} }`);
  for (const [name, chain] of after.chains) if (!before.chains.has(name)) lines.push(declared(table, name, chain));
  for (const [name, chain] of after.chains) {
    const old = before.chains.get(name);
    if (old !== undefined && same(old.rules, chain.rules)) continue;
    if (old !== undefined) lines.push(`flush chain ${table} ${name}`);
    for (const rule of chain.rules) lines.push(`add rule ${table} ${name} ${rule}`);
  }
  for (const [name, { elements }] of after.collections) {
    const old = before.collections.get(name)?.elements;
    if (elements !== undefined) lines.push(...elementLines(table, name, old ?? new Map(), elements));
  }
  // What goes is emptied first: chains refer to chains and to collections.
  const gone = [...before.chains.keys()].filter((name) => !after.chains.has(name));
  for (const name of gone) lines.push(`flush chain ${table} ${name}`);
  for (const name of gone) lines.push(`delete chain ${table} ${name}`);
  for (const [name, { type }] of before.collections) if (!after.collections.has(name)) lines.push(`delete ${type} ${table} ${name}`);
  return text(lines);
}

/** The transaction that makes the table hold this and nothing else, whatever a predecessor left in it; what packets have filled is kept. */
export function replacement(table: string, existing: Existing, after: Ruleset): string {
  const lines = [`add table ${table}`, `flush table ${table}`];
  for (const [name, { type, definition }] of after.collections) lines.push(`add ${type} ${table} ${name} { ${definition} }`);
  for (const [name, { type, elements }] of after.collections) if (elements !== undefined && existing.collections.has(name)) lines.push(`flush ${type} ${table} ${name}`);
  for (const [name, chain] of after.chains) lines.push(declared(table, name, chain));
  for (const [name, { rules }] of after.chains) for (const rule of rules) lines.push(`add rule ${table} ${name} ${rule}`);
  for (const [name, { elements }] of after.collections) if (elements !== undefined) lines.push(...elementLines(table, name, new Map(), elements));
  for (const name of existing.chains) if (!after.chains.has(name)) lines.push(`delete chain ${table} ${name}`);
  for (const name of existing.collections) if (!after.collections.has(name)) lines.push(`delete set ${table} ${name}`);
  return text(lines);
}

/** The same from nothing: for a predecessor whose chains or collections were made otherwise. */
export const recreation = (table: string, after: Ruleset): string =>
  `add table ${table}\ndelete table ${table}\n${replacement(table, { chains: new Set(), collections: new Set() }, after)}`;

/** Adding a table that is there, and deleting it: succeeds in either case. */
export const removal = (table: string): string => `add table ${table}\ndelete table ${table}\n`;

const declared = (table: string, name: string, { hook }: Chain): string => `add chain ${table} ${name}${hook === undefined ? '' : ` { ${hook} ; }`}`;

function elementLines(table: string, name: string, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const gone = [...before].filter(([key, rest]) => after.get(key) !== rest).map(([key]) => key);
  const added = [...after].filter(([key, rest]) => before.get(key) !== rest).map(([key, rest]) => `${key}${rest}`);
  return [...(gone.length === 0 ? [] : [`delete element ${table} ${name} { ${gone.join(', ')} }`]), ...(added.length === 0 ? [] : [`add element ${table} ${name} { ${added.join(', ')} }`])];
}

const same = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((rule, index) => rule === b[index]);
const text = (lines: readonly string[]): string => (lines.length === 0 ? '' : `${lines.join('\n')}\n`);
