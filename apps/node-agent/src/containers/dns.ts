import type { ClusterNetwork, Pod } from '@roundsman/api';
import { formatResolvConf, nameOfOption, parseResolvConf, type ResolvConf } from './resolv-conf.ts';

/** What resolvers can take; Kubernetes' limits. */
const mostServers = 3;
const mostSearches = 32;
const longestSearchLine = 2048;
const longestSearch = 253;

export interface PodDns {
  /** Its /etc/resolv.conf. */
  readonly text: string;
  /** What it could not have as it was asked for, with the kubelet's reasons and words. */
  readonly warnings: readonly DnsWarning[];
}

export interface DnsWarning {
  readonly reason: 'DNSConfigForming' | 'MissingClusterDNS';
  readonly message: string;
}

/** The DNS of the cluster as pods of this node reach it; `lacking`: why they do not. */
export interface ClusterDns extends Pick<ClusterNetwork, 'dnsAddresses' | 'domain'> {
  readonly lacking?: string | undefined;
}

/** How a pod resolves names: by the cluster's DNS, as the machine does (`machine`: its resolv.conf), or as the pod says. */
export function dnsOf({ metadata, spec }: Pod, machine: string, { dnsAddresses, domain, lacking }: ClusterDns): PodDns {
  const { dnsPolicy, dnsConfig, hostNetwork } = spec;
  const wantsCluster = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && hostNetwork !== true);
  const isCluster = wantsCluster && lacking === undefined;
  const own = parseResolvConf(machine);
  const namespace = metadata.namespace ?? '';
  const base: ResolvConf =
    dnsPolicy === 'None'
      ? { servers: [], searches: [], options: [] }
      : isCluster
        ? { servers: dnsAddresses, searches: distinct([`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...own.searches]), options: ['ndots:5'] }
        : own;
  const options = new Map(base.options.map((option) => [nameOfOption(option), option]));
  for (const { name = '', value } of dnsConfig?.options ?? []) options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  const warnings: DnsWarning[] = [];
  if (wantsCluster && !isCluster) warnings.push({ reason: 'MissingClusterDNS', message: `pod: "${metadata.name}_${namespace}(${metadata.uid})". ${lacking}: it cannot have the "ClusterFirst" policy. Falling back to "Default" policy.` });
  const servers = fittingServers(distinct([...base.servers, ...(dnsConfig?.nameservers ?? [])]), warnings);
  const searches = fittingSearches(distinct([...base.searches, ...(dnsConfig?.searches ?? [])]), warnings);
  return { text: formatResolvConf({ servers, searches, options: [...options.values()] }), warnings };
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

function fittingServers(servers: readonly string[], warnings: DnsWarning[]): readonly string[] {
  if (servers.length <= mostServers) return servers;
  const kept = servers.slice(0, mostServers);
  warnings.push({ reason: 'DNSConfigForming', message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${kept.join(' ')}` });
  return kept;
}

function fittingSearches(searches: readonly string[], warnings: DnsWarning[]): readonly string[] {
  // glibc ends a program that has a longer one.
  const kept = searches.slice(0, mostSearches).filter(({ length }) => length <= longestSearch);
  while (kept.join(' ').length > longestSearchLine) kept.pop();
  if (kept.length < searches.length) warnings.push({ reason: 'DNSConfigForming', message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${kept.join(' ')}` });
  return kept;
}
