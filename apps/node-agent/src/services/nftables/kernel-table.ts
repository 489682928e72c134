import type { PublishedPort } from '../host-ports.ts';
import type { NetworkNamespace } from '../network-namespace.ts';
import { nft, NftProblem } from './nft.ts';
import type { Existing, Ruleset } from './ruleset.ts';

/** A table as `nft -j` lists it, reduced to what is looked at. */
export interface KernelTable {
  /** How many rules each chain has. */
  readonly chains: ReadonlyMap<string, number>;
  readonly collections: ReadonlyMap<string, readonly Element[]>;
}

type Element = unknown;
interface Listing {
  readonly nftables: readonly { readonly chain?: { readonly name: string }; readonly rule?: { readonly chain: string }; readonly set?: Named; readonly map?: Named }[];
}
interface Named {
  readonly name: string;
  readonly elem?: readonly Element[];
}

/** Undefined: there is none. */
export async function listed(namespace: NetworkNamespace, table: string): Promise<KernelTable | undefined> {
  let text: string;
  try {
    text = await nft(namespace, ['-j', 'list', 'table', ...table.split(' ')]);
  } catch (error) {
    if (error instanceof NftProblem && error.message.includes('No such file or directory')) return undefined;
    throw error;
  }
  const chains = new Map<string, number>();
  const collections = new Map<string, readonly Element[]>();
  for (const { chain, rule, set, map } of (JSON.parse(text) as Listing).nftables) {
    if (chain !== undefined) chains.set(chain.name, chains.get(chain.name) ?? 0);
    if (rule !== undefined) chains.set(rule.chain, (chains.get(rule.chain) ?? 0) + 1);
    const collection = set ?? map;
    if (collection !== undefined) collections.set(collection.name, collection.elem ?? []);
  }
  return { chains, collections };
}

/** Whether the table is there and this chain of it not empty: what is left of neither when somebody loads rules of their own. Costs the same however many Services there are. */
export async function hasRules(namespace: NetworkNamespace, table: string, chain: string): Promise<boolean> {
  try {
    const { nftables } = JSON.parse(await nft(namespace, ['-j', 'list', 'chain', ...table.split(' '), chain])) as Listing;
    return nftables.some(({ rule }) => rule !== undefined);
  } catch (error) {
    if (error instanceof NftProblem && error.message.includes('No such file or directory')) return false;
    throw error;
  }
}

export const existingIn = (found: KernelTable | undefined): Existing => ({ chains: new Set(found?.chains.keys()), collections: new Set(found?.collections.keys()) });

/** Whether all that was told is there still: every chain with as many rules, every set with as many elements. */
export function holds(found: KernelTable | undefined, told: Ruleset): boolean {
  if (found === undefined || found.chains.size !== told.chains.size || found.collections.size !== told.collections.size) return false;
  for (const [name, { rules }] of told.chains) if (found.chains.get(name) !== rules.length) return false;
  for (const [name, { elements, definition }] of told.collections) {
    const there = found.collections.get(name)?.length;
    if (there === undefined) return false;
    // Neighbouring ranges may be listed as one.
    const enough = definition.includes('interval') ? there > 0 === (elements?.size ?? 0) > 0 : there === elements?.size;
    if (elements !== undefined && !enough) return false;
  }
  return true;
}

/** Host ports are nowhere but in the kernel while no agent runs: read back from there. */
export function hostPortsIn(found: KernelTable | undefined): PublishedPort[] {
  const ports: PublishedPort[] = [];
  for (const [name, elements] of found?.collections ?? []) {
    const specific = name.startsWith('host-ports');
    if (!specific && !name.startsWith('any-host-ports')) continue;
    for (const element of elements) {
      const port = hostPortFrom(element, specific);
      if (port !== undefined) ports.push(port);
    }
  }
  return ports;
}

/** `[{ elem: { val: { concat: [...] }, comment } }, { concat: [address, port] }]`. */
function hostPortFrom(element: Element, specific: boolean): PublishedPort | undefined {
  const [key, data] = element as [{ elem?: { val: { concat: unknown[] }; comment?: string } }, { concat: unknown[] }];
  const podUid = key.elem?.comment;
  if (podUid === undefined) return undefined;
  const parts = (key.elem?.val.concat ?? []).map(String);
  const [hostIP = '', protocol = '', hostPort = ''] = specific ? parts : ['', ...parts];
  const [address, containerPort] = data.concat;
  return { podUid, protocol: protocol.toUpperCase() as PublishedPort['protocol'], hostIP, hostPort: Number(hostPort), address: String(address), containerPort: Number(containerPort) };
}
