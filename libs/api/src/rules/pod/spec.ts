import { isIP } from 'node:net';
import type { Cause } from '../../kind.ts';
import type { PodDNSConfig } from '../../kinds/pod/network.ts';
import type { PodSpec } from '../../kinds/pod/spec.ts';
import { labelProblem, qualifiedNameProblem, subdomainProblem } from '../../names.ts';
import { duplicate, inRange, invalidValue, named, notSupported, required } from '../causes.ts';
import { goList } from '../go-syntax.ts';
import { containerCauses, ephemeralContainerCauses, initContainerCauses } from './containers.ts';
import { affinityCauses, labelCauses, spreadCauses, tolerationCauses } from './placement.ts';
import { hostNetworkCauses } from './ports.ts';
import { podSecurityCauses } from './security.ts';
import { volumeCauses } from './volumes.ts';

/** What is wrong with the spec of a pod or of a template of pods, in the order and words of Kubernetes. */
export function podSpecCauses(spec: PodSpec, field: string, { isPod }: { readonly isPod: boolean }): Cause[] {
  const { causes, known } = volumeCauses(spec.volumes ?? [], `${field}.volumes`);
  const place = { volumes: known, isPod };
  causes.push(
    ...containerCauses(spec, `${field}.containers`, place),
    ...initContainerCauses(spec, `${field}.initContainers`, place),
    ...ephemeralContainerCauses(spec, `${field}.ephemeralContainers`, place),
    ...(spec.hostNetwork === true ? hostNetworkCauses(spec.containers, `${field}.containers`, isPod) : []),
    ...labelCauses(spec.nodeSelector ?? {}, `${field}.nodeSelector`),
    ...podSecurityCauses(spec.securityContext, `${field}.securityContext`),
    ...(spec.shareProcessNamespace === true && spec.hostPID === true ? [invalidValue(`${field}.securityContext.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled')] : []),
    ...(spec.affinity === undefined ? [] : affinityCauses(spec.affinity, `${field}.affinity`)),
    ...dnsCauses(spec.dnsConfig, spec.dnsPolicy, `${field}.dnsConfig`),
    ...(spec.readinessGates ?? []).flatMap(({ conditionType }, index) => named(`${field}.readinessGates[${index}].conditionType`, conditionType, qualifiedNameProblem(conditionType))),
    ...gateCauses(spec.schedulingGates ?? [], `${field}.schedulingGates`),
    ...spreadCauses(spec.topologySpreadConstraints ?? [], `${field}.topologySpreadConstraints`),
    ...nameCauses(spec, field),
    ...inRange(`${field}.activeDeadlineSeconds`, spec.activeDeadlineSeconds, 1, 2_147_483_647),
    ...tolerationCauses(spec.tolerations ?? [], `${field}.tolerations`),
    ...(spec.os === undefined || systems.includes(spec.os.name) ? [] : [notSupported(`${field}.os`, spec.os.name, systems)]),
    ...aliasCauses(spec.hostAliases ?? [], `${field}.hostAliases`),
  );
  return causes;
}

const systems = ['linux', 'windows'];
const names = { serviceAccountName: subdomainProblem, nodeName: subdomainProblem, hostname: labelProblem, subdomain: labelProblem, priorityClassName: subdomainProblem, runtimeClassName: subdomainProblem } as const;

const nameCauses = (spec: PodSpec, field: string): Cause[] =>
  (Object.keys(names) as (keyof typeof names)[]).flatMap((member) => {
    const name = spec[member] ?? '';
    return name === '' ? [] : named(`${field}.${member}`, name, names[member](name));
  });

function gateCauses(gates: readonly { readonly name: string }[], field: string): Cause[] {
  const seen = new Set<string>();
  return gates.flatMap(({ name }, index) => {
    const causes = named(`${field}[${index}]`, name, qualifiedNameProblem(name));
    if (seen.has(name)) causes.push(duplicate(`${field}[${index}]`, name));
    seen.add(name);
    return causes;
  });
}

const ipProblem = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

function dnsCauses(config: PodDNSConfig | undefined, policy: string, field: string): Cause[] {
  if (policy === 'None' && config === undefined) return [required(field, 'must provide `dnsConfig` when `dnsPolicy` is None')];
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  if (policy === 'None' && nameservers.length === 0) return [required(`${field}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None')];
  const causes: Cause[] = [];
  if (nameservers.length > 3) causes.push(invalidValue(`${field}.nameservers`, goList(nameservers), 'must not have more than 3 nameservers'));
  for (const [index, server] of nameservers.entries()) if (isIP(server) === 0) causes.push(invalidValue(`${field}.nameservers[${index}]`, server, ipProblem));
  if (searches.length > 32) causes.push(invalidValue(`${field}.searches`, searches, 'must not have more than 32 search paths'));
  if (searches.join(' ').length > 2048) causes.push(invalidValue(`${field}.searches`, searches, 'must not have more than 2048 characters (including spaces) in the search list'));
  for (const [index, search] of searches.entries()) causes.push(...named(`${field}.searches[${index}]`, search, subdomainProblem(search.replace(/\.$/, ''))));
  for (const [index, { name = '' }] of options.entries()) if (name === '') causes.push(required(`${field}.options[${index}]`, 'must not be empty'));
  return causes;
}

const aliasCauses = (aliases: NonNullable<PodSpec['hostAliases']>, field: string): Cause[] =>
  aliases.flatMap(({ ip, hostnames = [] }, index) => [
    ...(isIP(ip) === 0 ? [invalidValue(`${field}[${index}].ip`, ip, ipProblem)] : []),
    ...hostnames.flatMap((name, at) => named(`${field}[${index}].hostnames[${at}]`, name, subdomainProblem(name))),
  ]);
