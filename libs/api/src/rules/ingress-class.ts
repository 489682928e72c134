import type { AdmissionContext, Cause } from '../kind.ts';
import type { IngressClass, IngressClassSpec } from '../kinds/ingressclass/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem, subdomainProblem } from '../names.ts';
import { forbiddenField, invalidValue, named, notSupported, required, tooLong, type Findings } from './causes.ts';
import { objectCauses } from './ingress.ts';

const longestController = 250;

export function ingressClassRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { spec } = object as IngressClass;
  const before = (old as IngressClass | undefined)?.spec;
  const causes = before !== undefined && before.controller !== spec.controller ? [invalidValue('spec.controller', spec.controller, 'field is immutable')] : [];
  return { causes: [...causes, ...controllerCauses('spec.controller', spec.controller), ...parameterCauses(spec.parameters, 'spec.parameters')], warnings: [] };
}

function controllerCauses(field: string, controller: string): Cause[] {
  if (controller === '') return [required(field, '')];
  const causes = controller.length > longestController ? [tooLong(field, longestController)] : [];
  const slash = controller.indexOf('/');
  if (slash <= 0 || slash === controller.length - 1) return [...causes, invalidValue(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const [domain, path] = [controller.slice(0, slash), controller.slice(slash + 1)];
  causes.push(...named(field, domain, subdomainProblem(domain)));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) causes.push(invalidValue(field, path, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
  return causes;
}

function parameterCauses(parameters: IngressClassSpec['parameters'], field: string): Cause[] {
  if (parameters === undefined) return [];
  const { scope, namespace } = parameters;
  const causes = objectCauses(parameters, field);
  if (scope !== 'Cluster' && scope !== 'Namespace') return [...causes, notSupported(`${field}.scope`, scope, ['Cluster', 'Namespace'])];
  if (scope === 'Cluster') return namespace === undefined ? causes : [...causes, forbiddenField(`${field}.namespace`, "`parameters.scope` is set to 'Cluster'")];
  return [...causes, ...(namespace === undefined ? [required(`${field}.namespace`, "`parameters.scope` is set to 'Namespace'")] : named(`${field}.namespace`, namespace, labelProblem(namespace)))];
}
