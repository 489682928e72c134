import type { PodSpec } from '@roundsman/api';
import type { SandboxSpec } from '@roundsman/containers';

type Dns = NonNullable<SandboxSpec['dns']>;

/** The parts of a resolv.conf that pods are given. */
export function parseResolvConf(text: string): Dns {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...rest] = line.replace(/[#;].*$/, '').trim().split(/\s+/);
    if (word === 'nameserver' && rest[0] !== undefined) servers.push(rest[0]);
    else if (word === 'search' || word === 'domain') searches = rest;
    else if (word === 'options') options = [...options, ...rest];
  }
  return { servers, searches, options };
}

/** How a pod resolves names; undefined: as the machine does. ClusterFirst is the machine's way, too, while there is no DNS of the cluster. */
export function dnsOf({ dnsPolicy, dnsConfig }: Pick<PodSpec, 'dnsPolicy' | 'dnsConfig'>, resolvConf: string): Dns | undefined {
  if (dnsConfig === undefined && dnsPolicy !== 'None') return undefined;
  const base = dnsPolicy === 'None' ? { servers: [], searches: [], options: [] } : parseResolvConf(resolvConf);
  const options = new Map(base.options.map((option) => [option.split(':')[0] ?? option, option]));
  for (const { name = '', value } of dnsConfig?.options ?? []) options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  const merged = (first: readonly string[], more: readonly string[] | undefined): string[] => [...new Set([...first, ...(more ?? [])])];
  return { servers: merged(base.servers, dnsConfig?.nameservers), searches: merged(base.searches, dnsConfig?.searches), options: [...options.values()] };
}
