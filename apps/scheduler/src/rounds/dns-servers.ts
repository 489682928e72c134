import type { NetDnsSpec } from '@roundsman/api';
import type { Task } from './caches.ts';

/**
 * Whether it is known whom a task with `targetDns` asks: its servers are found by the controllers and stand in its status.
 * `unknown`: nobody has looked for the present spec; `none`: there are none, `why` says why.
 */
export interface DnsServers {
  readonly state: 'known' | 'none' | 'unknown';
  readonly why?: string | undefined;
}

export function dnsServersOf({ kind, metadata, spec, status }: Task): DnsServers {
  if (kind !== 'NetDNS' || (spec as unknown as NetDnsSpec).target.targetDns === undefined) return { state: 'known' };
  const condition = status?.conditions?.find(({ type }) => type === 'TargetsFound');
  if (condition === undefined || (condition.observedGeneration ?? metadata.generation) < metadata.generation) return { state: 'unknown' };
  const state = (status?.dnsServers ?? []).length > 0 ? 'known' : 'none';
  return condition.status === 'True' ? { state } : { state, why: condition.message };
}
