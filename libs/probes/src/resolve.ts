import { lookup } from 'node:dns/promises';
import { ProbeError, clip } from './errors.ts';
import { parseAddress, type Policy } from '@roundsman/api/policy';

/** Where a target's exchanges go for the whole round: resolved once, checked, and never resolved again. */
export interface Pinned {
  address: string;
  port: number;
  family: 4 | 6;
  /** Microseconds the resolution took; undefined when the host was an address already. */
  resolveUs?: number;
}

/**
 * Resolves `host` and checks the address against the policy.
 * Rejects with a ProbeError (`unresolved`, `forbidden`, `canceled`), which is a result and not a fault.
 */
export async function pin(host: string, port: number, family: 'v4' | 'v6' | undefined, policy: Policy, signal: AbortSignal, timeoutMs: number): Promise<Pinned> {
  const literal = parseAddress(host);
  const pinned = literal === undefined ? await resolve(host, port, family, signal, timeoutMs) : fromLiteral(literal.toString(), port, family);
  const refusal = policy.refusal(pinned.address, port);
  if (refusal !== undefined) throw new ProbeError('forbidden', clip(literal === undefined ? `${host} resolves to a forbidden address: ${refusal}` : refusal));
  return pinned;
}

function fromLiteral(address: string, port: number, family: 'v4' | 'v6' | undefined): Pinned {
  const own = address.includes(':') ? 'v6' : 'v4';
  if (family !== undefined && family !== own) throw new ProbeError('unresolved', `${address} is not an IP${family} address`);
  return { address, port, family: own === 'v6' ? 6 : 4 };
}

async function resolve(host: string, port: number, family: 'v4' | 'v6' | undefined, signal: AbortSignal, timeoutMs: number): Promise<Pinned> {
  const started = performance.now();
  const stop = Promise.withResolvers<never>();
  const onAbort = (): void => stop.reject(new ProbeError('canceled', 'canceled while resolving the name'));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => stop.reject(new ProbeError('unresolved', `${clip(host)} was not resolved within ${timeoutMs} ms`)), timeoutMs);
  try {
    const found = await Promise.race([lookup(host, { family: family === 'v4' ? 4 : family === 'v6' ? 6 : 0 }), stop.promise]);
    return { address: found.address, port, family: found.family === 6 ? 6 : 4, resolveUs: (performance.now() - started) * 1000 };
  } catch (error) {
    if (error instanceof ProbeError) throw error;
    throw new ProbeError('unresolved', clip(`${host}: ${error instanceof Error ? error.message : String(error)}`));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
