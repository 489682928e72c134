import { isExposed } from '../../kinds/service/defaults.ts';
import type { Cause } from '../../kind.ts';
import type { ServiceSpec } from '../../kinds/service/schema.ts';
import { forbiddenField, inRange, invalidValue, notSupported, required } from '../causes.ts';

/** Its nodes tell load balancers whether they have pods of it. */
export const needsHealthCheck = ({ type, externalTrafficPolicy }: ServiceSpec): boolean => type === 'LoadBalancer' && externalTrafficPolicy === 'Local';

export function trafficCauses(spec: ServiceSpec): Cause[] {
  const { externalTrafficPolicy, healthCheckNodePort, trafficDistribution } = spec;
  const field = 'spec.healthCheckNodePort';
  const causes: Cause[] = [];
  if (externalTrafficPolicy !== undefined && !isExposed(spec)) causes.push(invalidValue('spec.externalTrafficPolicy', externalTrafficPolicy, 'may only be set for externally-accessible services'));
  if (!needsHealthCheck(spec)) {
    if (healthCheckNodePort !== undefined) causes.push(invalidValue(field, healthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  } else if (healthCheckNodePort === undefined) causes.push(required(field, ''));
  else causes.push(...inRange(field, healthCheckNodePort, 1, 65_535));
  if (trafficDistribution !== undefined && trafficDistribution !== 'PreferClose') causes.push(notSupported('spec.trafficDistribution', trafficDistribution, ['PreferClose']));
  return causes;
}

export const trafficChangeCauses = (spec: ServiceSpec, old: ServiceSpec): Cause[] =>
  needsHealthCheck(spec) && needsHealthCheck(old) && spec.healthCheckNodePort !== old.healthCheckNodePort ? [forbiddenField('spec.healthCheckNodePort', 'field is immutable')] : [];
