import { goList, invalidValue, isHeadless, type Cause, type Service } from '@roundsman/api';
import { isIPv6 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Family } from './book.ts';

type Spec = Service['spec'];
const policy = 'spec.ipFamilyPolicy';
const other = (family: Family): Family => (family === 'IPv4' ? 'IPv6' : 'IPv4');

/**
 * Decides of which families the addresses of a service are, by what it says and by those that the cluster has: `ipFamilyPolicy` and `ipFamilies`. Changes
 * `spec`; returns what is wrong with it.
 */
export function chooseFamilies(spec: Spec, old: Spec | undefined, cluster: readonly Family[]): Cause[] {
  if (spec.type === 'ExternalName' || keepsPreference(spec, old)) return [];
  const headlessWithoutPods = isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (headlessWithoutPods ? 'RequireDualStack' : 'SingleStack');
  const causes = [...(old === undefined ? [] : reduce(spec, old)), ...singleCauses(spec), ...familiesOfAddresses(spec, cluster)];
  if (causes.length > 0) return causes;
  const isDual = spec.ipFamilyPolicy !== 'SingleStack';
  // Nothing is given to it, so it may name families that the cluster does not have.
  if (headlessWithoutPods) {
    const [family = cluster[0]!] = spec.ipFamilies ?? [];
    if ((spec.ipFamilies ?? []).length < 2) spec.ipFamilies = isDual ? [family, other(family)] : [family];
    return [];
  }
  const missing = (spec.ipFamilies ?? []).flatMap((family, index) => (cluster.includes(family) ? [] : [invalidValue(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')]));
  if (spec.ipFamilyPolicy === 'RequireDualStack' && cluster.length < 2) missing.unshift(invalidValue(policy, spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services'));
  if (missing.length > 0) return missing;
  const [family = cluster[0]!] = spec.ipFamilies ?? [];
  if ((spec.ipFamilies ?? []).length < 2) spec.ipFamilies = isDual && cluster.length === 2 ? [family, other(family)] : [family];
  return [];
}

/** A service that would rather have both families keeps what it got, also when the cluster has others now. */
export const keepsPreference = (spec: Spec, old: Spec | undefined): boolean =>
  old !== undefined &&
  spec.ipFamilyPolicy === 'PreferDualStack' &&
  (old.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
  spec.type === old.type &&
  isDeepStrictEqual(spec.clusterIPs, old.clusterIPs) &&
  isDeepStrictEqual(spec.ipFamilies, old.ipFamilies);

/** Who says only that he wants one family loses the second; who takes it away must say so. */
function reduce(spec: Spec, old: Spec): Cause[] {
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (isDeepStrictEqual(spec.clusterIPs, old.clusterIPs) && (spec.clusterIPs ?? []).length > 1) spec.clusterIPs = spec.clusterIPs!.slice(0, 1);
    if (isDeepStrictEqual(spec.ipFamilies, old.ipFamilies) && (spec.ipFamilies ?? []).length > 1) spec.ipFamilies = spec.ipFamilies!.slice(0, 1);
    return [];
  }
  const isLess = (member: 'clusterIPs' | 'ipFamilies'): boolean => (spec[member] ?? []).length > 0 && spec[member]!.length < (old[member] ?? []).length;
  return [
    ...(isLess('clusterIPs') ? [invalidValue(policy, spec.ipFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP")] : []),
    ...(isLess('ipFamilies') ? [invalidValue(policy, spec.ipFamilyPolicy, "must be 'SingleStack' to release the secondary IP family")] : []),
  ];
}

function singleCauses({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: Spec): Cause[] {
  if (ipFamilyPolicy !== 'SingleStack') return [];
  const several = (what: string): Cause => invalidValue(policy, ipFamilyPolicy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`);
  return [...(clusterIPs.length === 2 ? [several('cluster IPs')] : []), ...(ipFamilies.length === 2 ? [several('IP families')] : [])];
}

/** Addresses say their family where it is not said beside them. */
function familiesOfAddresses(spec: Spec, cluster: readonly Family[]): Cause[] {
  const { clusterIPs = [] } = spec;
  if (isHeadless(spec)) return [];
  const causes: Cause[] = [];
  const families = [...(spec.ipFamilies ?? [])];
  for (const [index, address] of clusterIPs.entries()) {
    if (index < (spec.ipFamilies ?? []).length) continue;
    const family = isIPv6(address) ? 'IPv6' : 'IPv4';
    if (cluster.includes(family)) families.push(family);
    else causes.push(invalidValue(`spec.clusterIPs[${index}]`, goList(clusterIPs), `${family} is not configured on this cluster`));
  }
  if (families.length > 0) spec.ipFamilies = families;
  return causes;
}
