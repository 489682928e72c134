import type { AdmissionContext } from '../kind.ts';
import type { Service } from '../kinds/service/schema.ts';
import type { NetDnsSpec } from '../kinds/spec.ts';
import { labelProblem } from '../names.ts';
import { parseAddress } from '../policy.ts';
import { forbiddenField, invalidValue, type Findings } from './causes.ts';
import { familyNames, isOfFamily, knownFamilies, storedNetwork, storedNodes, type Family } from './cluster.ts';
import { notTested } from './unsupported.ts';

const field = 'spec.target.targetDns';
const members = { v4: 'testIPv4', v6: 'testIPv6' } as const;

type TargetDns = NonNullable<NetDnsSpec['target']['targetDns']>;
const familiesAsked = (targetDns: TargetDns): Family[] => (['v4', 'v6'] as const).filter((family) => targetDns[members[family]]);

/** A Service that is asked for names: it, or what is found by label, must have a cluster address of each family that is asked for. */
export function targetDnsRules(targetDns: TargetDns, context: AdmissionContext, found: Findings): void {
  const { causes, warnings } = found;
  const asked = familiesAsked(targetDns);
  if (asked.length === 0) causes.push(forbiddenField(field, 'at least one of testIPv4 and testIPv6 must be true'));
  const { serviceName = '', serviceNamespace = '' } = targetDns;
  for (const [member, value] of Object.entries({ serviceName, serviceNamespace })) {
    const problem = value === '' ? undefined : labelProblem(value);
    if (problem !== undefined) causes.push(invalidValue(`${field}.${member}`, value, problem));
  }
  const families = knownFamilies(context);
  const lacking = asked.filter((family) => families?.includes(family) === false);
  for (const family of lacking) causes.push(forbiddenField(`${field}.${members[family]}`, `this cluster has no ${familyNames[family]} addresses`));
  if (serviceName === '') return;
  const namespace = serviceNamespace === '' ? defaultDnsNamespace : serviceNamespace;
  const service = context.get('services', namespace, serviceName) as Service | undefined;
  if (service !== undefined) addressRule(service, asked.filter((family) => !lacking.includes(family)), context, found);
  else if (storedNodes(context).length > 0) warnings.push(`${field}.serviceName: services "${serviceName}" does not exist in namespace "${namespace}" yet; rounds fail until it does`);
}

/** Where a Service is looked for whose namespace is not given, as is what is found by label. */
export const defaultDnsNamespace = 'kube-system';

/** The name of a Service that the cluster's DNS cannot know. */
export function serviceNameRule({ request: { domain }, expect: { rcode } }: NetDnsSpec, context: AdmissionContext, { warnings }: Findings): void {
  const network = storedNetwork(context);
  const [, name, namespace, zone] = /^([^.]+)\.([^.]+)\.svc\.(.+?)\.?$/.exec(domain) ?? [];
  if (network === undefined || rcode !== undefined || name === undefined || namespace === undefined || zone !== network.domain || context.get('services', namespace, name) !== undefined) return;
  warnings.push(`spec.request.domain: services "${name}" does not exist in namespace "${namespace}" yet; the cluster's DNS answers NXDOMAIN until it does`);
}

function addressRule({ metadata, spec }: Service, asked: readonly Family[], context: AdmissionContext, found: Findings): void {
  const addresses = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((text) => parseAddress(text) !== undefined);
  const name = `Service ${metadata.namespace}/${metadata.name}`;
  if (addresses.length === 0) return notTested(`${field}.serviceName`, `${name} has no cluster address (${spec.type === 'ExternalName' ? 'it is an ExternalName' : 'it is headless'})`, context, found);
  for (const family of asked) {
    if (!addresses.some((address) => isOfFamily(family, address))) notTested(`${field}.${members[family]}`, `${name} has no ${familyNames[family]} address`, context, found);
  }
}
