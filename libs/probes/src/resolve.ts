import { lookup } from 'node:dns/promises';
import { ProbeError, clip } from './errors.ts';
import { parseAddress, type Policy } from '@roundsman/api/policy';

/** Where a target's exchanges go, from when on it was found: checked, and never resolved again in that round. */
export interface Pinned {
  address: string;
  port: number;
  family: 4 | 6;
  /** Microseconds the resolution took; undefined when the host was an address already. */
  resolveUs?: number;
}

/** Finds an address of a name; family 0 is either. Rejects where there is none. */
export type Lookup = (host: string, options: { family: 0 | 4 | 6 }) => Promise<{ address: string; family: number }>;

/**
 * Resolves `host`, however long that takes, and checks the address against the policy.
 * Rejects with a ProbeError (`unresolved`, `forbidden`), which is a result and not a fault.
 */
export async function pin(host: string, port: number, family: 'v4' | 'v6' | undefined, policy: Policy, find: Lookup = lookup): Promise<Pinned> {
  const literal = parseAddress(host);
  const pinned = literal === undefined ? await resolve(host, port, family, find) : fromLiteral(literal.toString(), port, family);
  const refusal = policy.refusal(pinned.address, port);
  if (refusal !== undefined) throw new ProbeError('forbidden', clip(literal === undefined ? `${host} resolves to a forbidden address: ${refusal}` : refusal));
  return pinned;
}

function fromLiteral(address: string, port: number, family: 'v4' | 'v6' | undefined): Pinned {
  const own = address.includes(':') ? 'v6' : 'v4';
  if (family !== undefined && family !== own) throw new ProbeError('unresolved', `${address} is not an IP${family} address`);
  return { address, port, family: own === 'v6' ? 6 : 4 };
}

async function resolve(host: string, port: number, family: 'v4' | 'v6' | undefined, find: Lookup): Promise<Pinned> {
  const started = performance.now();
  try {
    const found = await find(host, { family: family === 'v4' ? 4 : family === 'v6' ? 6 : 0 });
    return { address: found.address, port, family: found.family === 6 ? 6 : 4, resolveUs: (performance.now() - started) * 1000 };
  } catch (error) {
    throw new ProbeError('unresolved', clip(`${host}: ${error instanceof Error ? error.message : String(error)}`));
  }
}
