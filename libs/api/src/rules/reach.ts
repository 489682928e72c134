import type { AdmissionContext } from '../kind.ts';
import type { Service } from '../kinds/service/schema.ts';
import type { NetReachSpec } from '../kinds/spec.ts';
import { forbiddenField, type Findings } from './causes.ts';
import { familiesOfRanges, familyNames, isOfFamily, knownCapabilities, knownFamilies, storedNetwork, storedNodes, storedRuntime, type Family } from './cluster.ts';
import { notTested } from './unsupported.ts';

const layers = ['endpoint', 'multusInterface', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress'] as const;
const members = { v4: 'ipv4', v6: 'ipv6' } as const;

export const familiesAsked = (target: NetReachSpec['target']): Family[] => (['v4', 'v6'] as const).filter((family) => target[members[family]]);

/** What a NetReach may ask for: something, and nothing that this cluster is known not to have. */
export function reachRules(target: NetReachSpec['target'], context: AdmissionContext, found: Findings): void {
  const { causes } = found;
  const asked = familiesAsked(target);
  if (asked.length === 0) causes.push(forbiddenField('spec.target', 'at least one of ipv4 and ipv6 must be true'));
  if (!layers.some((layer) => target[layer])) causes.push(forbiddenField('spec.target', `at least one of ${layers.slice(0, -1).join(', ')} and ${layers.at(-1)} must be true`));
  // Processes have the addresses of their machines, about which nothing is known here; what else they lack is told by unsupportedRules.
  if (!knownCapabilities(context).workloads) return;
  const families = knownFamilies(context);
  for (const family of asked) {
    if (families === undefined || families.includes(family)) continue;
    causes.push(forbiddenField(`spec.target.${members[family]}`, `this cluster has no ${familyNames[family]} addresses, only ${families.map((one) => familyNames[one]).join(' and ')}: set it to false`));
  }
  if (target.loadBalancer) balancerRule(asked.filter((family) => families?.includes(family) !== false), context, found);
  if (target.multusInterface) interfaceRule(context, found);
  if (target.ingress && storedNodes(context).length > 0 && context.list('ingressclasses.networking.k8s.io').length === 0) {
    notTested('spec.target.ingress', 'there is no IngressClass: nothing in this cluster serves Ingresses', context, found);
  }
}

/** Pods of the small cluster have one interface, unless somebody gave those of the default runtime others. */
function interfaceRule(context: AdmissionContext, { warnings }: Findings): void {
  const further = storedRuntime(context)?.status?.runners.some(({ interfaces = [] }) => interfaces.length > 0) === true;
  if (storedNodes(context).length === 0 || further) return;
  warnings.push('spec.target.multusInterface: pods of this cluster have no interface besides their own (there is no Multus): while that is so rounds list it as not tested, and are incomplete');
}

/** Addresses of load balancers come from the pool of the small cluster, or from somebody who has given some already. */
function balancerRule(asked: readonly Family[], context: AdmissionContext, found: Findings): void {
  const network = storedNetwork(context);
  if (network === undefined) return;
  const pool = familiesOfRanges(network.loadBalancerCidrs);
  const lacking = asked.filter((family) => !pool.includes(family) && !isBalanced(family, context));
  if (lacking.length === 0) return;
  notTested('spec.target.loadBalancer', `this cluster has no ${lacking.map((family) => familyNames[family]).join(' and no ')} addresses for load balancers (ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS)`, context, found);
}

const isBalanced = (family: Family, { list }: AdmissionContext): boolean =>
  (list('services') as readonly Service[]).some(({ status }) => status?.loadBalancer.ingress?.some(({ ip = '' }) => isOfFamily(family, ip)) === true);
