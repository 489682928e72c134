import type { AdmissionContext, Cause } from '../kind.ts';
import type { Service } from '../kinds/service/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelValueProblem, qualifiedNameProblem, subdomainProblem } from '../names.ts';
import { forbiddenField, invalidValue, named, required, type Findings } from './causes.ts';
import { ipCauses, ipWarnings, specialIpCauses } from './ip.ts';
import { clusterIpCauses, clusterIpChangeCauses, isHeadless } from './service/cluster-ips.ts';
import { balancerCauses, balancerClassChangeCauses } from './service/load-balancer.ts';
import { servicePortCauses } from './service/ports.ts';
import { trafficCauses, trafficChangeCauses } from './service/traffic.ts';

/** Rules of services, in Kubernetes' words. */
export function serviceRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const service = object as Service;
  const { spec } = service;
  const before = (old as Service | undefined)?.spec;
  const causes = [
    ...(before === undefined ? [] : [...clusterIpChangeCauses(spec, before), ...balancerClassChangeCauses(spec, before), ...trafficChangeCauses(spec, before)]),
    ...typeCauses(service),
    ...servicePortCauses(spec, 'spec.ports'),
    ...selectorCauses(spec.selector ?? {}),
    ...affinityCauses(spec.sessionAffinityConfig?.clientIP?.timeoutSeconds),
    ...clusterIpCauses(spec),
    ...(spec.externalIPs ?? []).flatMap((address, index) => {
      const field = `spec.externalIPs[${index}]`;
      const causesOfText = ipCauses(field, address);
      return causesOfText.length > 0 ? causesOfText : specialIpCauses(field, address);
    }),
    ...balancerCauses(service),
    ...trafficCauses(spec),
  ];
  return { causes, warnings: warningsOf(spec) };
}

/** A day. */
const longestAffinity = 86_400;
const affinityCauses = (seconds: number | undefined): Cause[] =>
  seconds !== undefined && (seconds <= 0 || seconds > longestAffinity) ? [invalidValue('spec.sessionAffinityConfig.clientIP.timeoutSeconds', seconds, `must be greater than 0 and less than ${longestAffinity}`)] : [];

function typeCauses({ spec }: Service): Cause[] {
  const { type, ports = [], clusterIPs = [] } = spec;
  const causes: Cause[] = [];
  if (ports.length === 0 && !isHeadless(spec) && type !== 'ExternalName') causes.push(required('spec.ports', ''));
  if (isHeadless(spec) && (type === 'LoadBalancer' || type === 'NodePort')) causes.push(invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  if (type !== 'ExternalName') return causes;
  const unused = { clusterIPs: clusterIPs.length > 0, ipFamilies: (spec.ipFamilies ?? []).length > 0, ipFamilyPolicy: spec.ipFamilyPolicy !== undefined };
  for (const [member, isSet] of Object.entries(unused)) if (isSet) causes.push(forbiddenField(`spec.${member}`, 'may not be set for ExternalName services'));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  return [...causes, ...(name === '' ? [required('spec.externalName', '')] : named('spec.externalName', name, subdomainProblem(name)))];
}

const selectorCauses = (selector: Readonly<Record<string, string>>): Cause[] =>
  Object.entries(selector).flatMap(([key, value]) => [...named('spec.selector', key, qualifiedNameProblem(key)), ...named('spec.selector', value, labelValueProblem(value))]);

function warningsOf(spec: Service['spec']): string[] {
  const { type, externalIPs = [], clusterIPs = [], loadBalancerIP } = spec;
  const warnings = [
    ...(isHeadless(spec) ? [] : clusterIPs.flatMap((address, index) => ipWarnings(`spec.clusterIPs[${index}]`, address))),
    ...externalIPs.flatMap((address, index) => ipWarnings(`spec.externalIPs[${index}]`, address)),
    ...(loadBalancerIP === undefined ? [] : ipWarnings('spec.loadBalancerIP', loadBalancerIP)),
  ];
  if (type === 'ExternalName' && externalIPs.length > 0) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (type !== 'ExternalName' && spec.externalName !== undefined) warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  return warnings;
}
