import { legacyIngressClassAnnotation as classAnnotation } from '../ingress-class.ts';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule, IngressSpec } from '../kinds/ingress/schema.ts';
import type { KubeObject } from '../meta.ts';
import { letterLabelProblem, subdomainProblem, wildcardProblem } from '../names.ts';
import { inRange, invalidValue, named, required, Verbatim, type Findings } from './causes.ts';
import { isAddress } from './ip.ts';
import { pathCauses, segmentProblem } from './paths.ts';
import { portNameProblems } from './pod/ports.ts';

export function ingressRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { metadata, spec } = object as Ingress;
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  const annotation = metadata.annotations?.[classAnnotation];
  const causes = [
    ...(rules.length === 0 && defaultBackend === undefined ? [invalidValue('spec', new Verbatim('[]networking.IngressRule(nil)'), 'either `defaultBackend` or `rules` must be specified')] : []),
    ...(defaultBackend === undefined ? [] : backendCauses(defaultBackend, 'spec.defaultBackend')),
    ...rules.flatMap((rule, index) => ruleCauses(rule, `spec.rules[${index}]`)),
    ...tls.flatMap((one, index) => tlsCauses(one, `spec.tls[${index}]`)),
    ...(ingressClassName === undefined ? [] : named('spec.ingressClassName', ingressClassName, subdomainProblem(ingressClassName))),
  ];
  if (old !== undefined || annotation === undefined) return { causes, warnings: [] };
  if (ingressClassName !== undefined && ingressClassName !== annotation) causes.push(invalidValue(`annotations.${classAnnotation}`, annotation, 'must match `ingressClassName` when both are specified'));
  return { causes, warnings: [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`] };
}

function ruleCauses({ host, http }: IngressRule, field: string): Cause[] {
  const causes = host === undefined ? [] : hostCauses(`${field}.host`, host);
  if (http === undefined) return causes;
  if (http.paths.length === 0) causes.push(required(`${field}.http.paths`, ''));
  return [...causes, ...http.paths.flatMap((path, index) => onePathCauses(path, `${field}.http.paths[${index}]`))];
}

const hostCauses = (field: string, host: string): Cause[] => [
  ...(isAddress(host) ? [invalidValue(field, host, 'must be a DNS name, not an IP address')] : []),
  ...named(field, host, host.includes('*') ? wildcardProblem(host) : subdomainProblem(host)),
];

function onePathCauses({ path = '', pathType, backend }: HTTPIngressPath, field: string): Cause[] {
  const causes = pathType !== 'ImplementationSpecific' ? pathCauses(`${field}.path`, path) : path === '' || path.startsWith('/') ? [] : [invalidValue(`${field}.path`, path, 'must be an absolute path')];
  return [...causes, ...backendCauses(backend, `${field}.backend`)];
}

const tlsCauses = ({ hosts = [], secretName }: NonNullable<IngressSpec['tls']>[number], field: string): Cause[] => [
  ...hosts.flatMap((host, index) => named(`${field}.hosts[${index}]`, host, host.includes('*') ? wildcardProblem(host) : subdomainProblem(host))),
  ...(secretName === undefined ? [] : named(`${field}.secretName`, secretName, subdomainProblem(secretName))),
];

function backendCauses({ service, resource }: IngressBackend, field: string): Cause[] {
  if (service !== undefined && resource !== undefined) return [invalidValue(field, '', 'cannot set both resource and service backends')];
  if (resource !== undefined) return objectCauses(resource, `${field}.resource`);
  if (service === undefined) return [invalidValue(field, '', 'resource or service backend is required')];
  const { name, port } = service;
  const causes = name === '' ? [required(`${field}.service.name`, '')] : named(`${field}.service.name`, name, letterLabelProblem(name));
  if (port.name !== undefined && port.number !== undefined) causes.push(invalidValue(field, '', 'cannot set both port name & port number'));
  else if (port.name !== undefined) causes.push(...portNameProblems(port.name).map((problem) => invalidValue(`${field}.service.port.name`, port.name, problem)));
  else if (port.number !== undefined) causes.push(...inRange(`${field}.service.port.number`, port.number, 1, 65_535));
  else causes.push(required(field, 'port name or number is required'));
  return causes;
}

/** A reference to an object of any kind. */
export function objectCauses({ apiGroup, kind, name }: { apiGroup?: string | undefined; kind: string; name: string }, field: string): Cause[] {
  const causes = apiGroup === undefined ? [] : named(`${field}.apiGroup`, apiGroup, subdomainProblem(apiGroup));
  for (const [member, value] of Object.entries({ kind, name })) causes.push(...(value === '' ? [required(`${field}.${member}`, `${member} is required`)] : named(`${field}.${member}`, value, segmentProblem(value))));
  return causes;
}
