import type { Cause } from '../../kind.ts';
import type { Service, ServiceSpec } from '../../kinds/service/schema.ts';
import { qualifiedNameProblem } from '../../names.ts';
import { forbiddenField, invalidValue, named } from '../causes.ts';
import { cidrCauses } from '../ip.ts';

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";
/** The older place of loadBalancerSourceRanges. */
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';

export function balancerCauses({ metadata, spec }: Service): Cause[] {
  const isBalanced = spec.type === 'LoadBalancer';
  const causes = sourceRangeCauses(isBalanced, spec.loadBalancerSourceRanges ?? [], metadata.annotations?.[sourceRangesAnnotation]);
  if (spec.allocateLoadBalancerNodePorts !== undefined && !isBalanced) causes.push(forbiddenField('spec.allocateLoadBalancerNodePorts', onlyBalanced));
  const { loadBalancerClass: name } = spec;
  if (name === undefined) return causes;
  return [...causes, ...(isBalanced ? named('spec.loadBalancerClass', name, qualifiedNameProblem(name)) : [forbiddenField('spec.loadBalancerClass', onlyBalanced)])];
}

function sourceRangeCauses(isBalanced: boolean, ranges: readonly string[], annotation: string | undefined): Cause[] {
  const own = ranges.length > 0;
  if (!own && annotation === undefined) return [];
  const field = own ? 'spec.LoadBalancerSourceRanges' : `metadata.annotations[${sourceRangesAnnotation}]`;
  const given = own ? ranges : (annotation ?? '').split(',').filter((text) => text.trim() !== '');
  const wrong = given.flatMap((text, index) => cidrCauses(own ? `${field}[${index}]` : field, text.trim()));
  return isBalanced ? wrong : [forbiddenField(field, onlyBalanced), ...wrong];
}

export function balancerClassChangeCauses(spec: ServiceSpec, old: ServiceSpec): Cause[] {
  const both = spec.type === 'LoadBalancer' && old.type === 'LoadBalancer';
  return both && spec.loadBalancerClass !== old.loadBalancerClass ? [invalidValue('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set')] : [];
}
