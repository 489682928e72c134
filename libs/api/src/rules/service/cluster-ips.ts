import type { Cause } from '../../kind.ts';
import type { ServiceSpec } from '../../kinds/service/schema.ts';
import { duplicate, invalidValue, required, Verbatim } from '../causes.ts';
import { goList } from '../go-syntax.ts';
import { ipCauses, isIPv6Text } from '../ip.ts';

type Addresses = Pick<ServiceSpec, 'type' | 'clusterIP' | 'clusterIPs' | 'ipFamilies' | 'ipFamilyPolicy'>;

const ips = 'spec.clusterIPs';
const goFamilies = (families: readonly string[]): Verbatim => new Verbatim(`[]core.IPFamily{${families.map((family) => JSON.stringify(family)).join(', ')}}`);

/** It has no address of its own: its name leads to its pods. */
export const isHeadless = ({ clusterIPs = [] }: Pick<ServiceSpec, 'clusterIPs'>): boolean => clusterIPs.length === 1 && clusterIPs[0] === 'None';

/** Whether the addresses of a service and their families fit one another. */
export function clusterIpCauses(spec: Addresses): Cause[] {
  const { type, clusterIP = '', clusterIPs = [], ipFamilies = [] } = spec;
  if (type === 'ExternalName') return [];
  const causes: Cause[] = [];
  if (clusterIP === '' && clusterIPs.length > 0) causes.push(invalidValue(ips, goList(clusterIPs), 'must be empty when `clusterIP` is not specified'));
  if (clusterIP !== '' && clusterIPs.length === 0) causes.push(required(ips, ''));
  else if (clusterIP !== '' && clusterIPs[0] !== clusterIP) causes.push(invalidValue(ips, goList(clusterIPs), 'first value must match `clusterIP`'));
  ipFamilies.forEach((family, index) => {
    if (ipFamilies.indexOf(family) < index) causes.push(duplicate(`spec.ipFamilies[${index}]`, family));
  });
  const wrong = clusterIPs.flatMap((address, index) => {
    if (index > 0 || address !== 'None') return ipCauses(`${ips}[${index}]`, address);
    return clusterIPs.length === 1 ? [] : [invalidValue(ips, goList(clusterIPs), "'None' must be the first and only value")];
  });
  causes.push(...wrong);
  if (clusterIPs.length > 2) causes.push(invalidValue(ips, goList(clusterIPs), 'may only hold up to 2 values'));
  // What is no address has no family.
  if (wrong.length > 0) return causes;
  if (clusterIPs.length > 1 && (clusterIPs.every(isIPv6Text) || !clusterIPs.some(isIPv6Text))) causes.push(invalidValue(ips, goList(clusterIPs), 'may specify no more than one IP for each IP family'));
  if (isHeadless(spec)) return causes;
  clusterIPs.slice(0, ipFamilies.length).forEach((address, index) => {
    if ((ipFamilies[index] === 'IPv6') !== isIPv6Text(address)) causes.push(invalidValue(`${ips}[${index}]`, address, `expected an ${ipFamilies[index]} value as indicated by \`ipFamilies[${index}]\``));
  });
  return causes;
}

/** The first address and family stay as long as a service has any; the second ones may come, and go with the policy. */
export function clusterIpChangeCauses(spec: Addresses, old: Addresses): Cause[] {
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return [];
  const causes = isHeadless(spec) && isHeadless(old) ? [] : listChange('clusterIPs', 'clusterIP', spec, [old.clusterIPs ?? [], spec.clusterIPs ?? []], goList);
  if (!isHeadless(spec) && !isHeadless(old)) causes.push(...listChange('ipFamilies', 'ipFamily', spec, [old.ipFamilies ?? [], spec.ipFamilies ?? []], goFamilies));
  return causes;
}

function listChange(member: 'clusterIPs' | 'ipFamilies', one: string, { ipFamilyPolicy }: Addresses, [before, after]: [readonly string[], readonly string[]], text: (values: readonly string[]) => Verbatim): Cause[] {
  const changed = (index: number): Cause => invalidValue(`spec.${member}[${index}]`, text(after), 'may not change once set');
  if (before.length === after.length) return before.flatMap((value, index) => (value === after[index] ? [] : [changed(member === 'ipFamilies' ? 0 : index)]));
  const causes: Cause[] = [];
  if (before.length > 0 && after.length > 0 && before[0] !== after[0]) causes.push(changed(0));
  if (before.length < after.length) return causes;
  if (after.length === 0) causes.push(invalidValue(`spec.${member}[0]`, text(after), `primary ${one === 'ipFamily' ? 'ipFamily' : 'clusterIP'} can not be unset`));
  if (after.length === 1 && ipFamilyPolicy !== 'SingleStack') causes.push(invalidValue('spec.ipFamilyPolicy', ipFamilyPolicy, `must be set to 'SingleStack' when releasing the secondary ${one}`));
  return causes;
}
