import type { Cause } from '../../kind.ts';
import type { ResourceRequirements } from '../../kinds/pod/resources.ts';
import { qualifiedNameProblem } from '../../names.ts';
import { compareQuantities, parseQuantity } from '../../quantity.ts';
import { forbiddenField, invalidValue, required } from '../causes.ts';

/** What a container may ask for without the name of a vendor before it. */
const standard = new Set(['cpu', 'memory', 'ephemeral-storage']);
const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
/** Of these a container may be promised less than it may use. */
const isOvercommitted = (name: string): boolean => (!name.includes('/') || name.split('/')[0]!.endsWith('kubernetes.io')) && !isHugePages(name);
const isDomained = (name: string): boolean => name.includes('/');

export function resourceCauses({ limits = {}, requests = {} }: ResourceRequirements, field: string): Cause[] {
  const causes: Cause[] = [];
  for (const [name, limit] of Object.entries(limits)) causes.push(...amountCauses(name, limit, `${field}.limits[${name}]`));
  for (const [name, request] of Object.entries(requests)) {
    causes.push(...amountCauses(name, request, `${field}.requests[${name}]`));
    const limit = limits[name];
    if (limit === undefined) {
      if (!isOvercommitted(name)) causes.push(required(`${field}.limits`, 'Limit must be set for non overcommitable resources'));
      continue;
    }
    // Both in canonical form: equal amounts read alike, mostly.
    const order = request === limit ? 0 : compareQuantities(request, limit);
    if (order !== 0 && !isOvercommitted(name)) causes.push(invalidValue(`${field}.requests`, request, `must be equal to ${name} limit of ${limit}`));
    else if (order > 0) causes.push(invalidValue(`${field}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) causes.push(forbiddenField(field, 'HugePages require cpu or memory'));
  return causes;
}

/** What is wrong with the name of a resource of containers. `value`: how the name is shown. */
export function containerResourceCauses(name: string, field: string, value: unknown = name): Cause[] {
  const problem = qualifiedNameProblem(name);
  if (problem !== undefined) return [invalidValue(field, value, problem)];
  if (isDomained(name) || standard.has(name) || isHugePages(name)) return [];
  return [invalidValue(field, value, 'must be a standard resource type or fully qualified'), invalidValue(field, value, 'must be a standard resource for containers')];
}

function amountCauses(name: string, amount: string, field: string): Cause[] {
  const causes = containerResourceCauses(name, field);
  if (amount.startsWith('-')) causes.push(invalidValue(field, amount, 'must be greater than or equal to 0'));
  if (isDomained(name) && !Number.isInteger(parseQuantity(amount))) causes.push(invalidValue(field, amount, 'must be an integer'));
  return causes;
}
