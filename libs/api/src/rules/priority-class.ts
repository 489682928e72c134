import type { AdmissionContext } from '../kind.ts';
import type { PriorityClass } from '../kinds/priorityclass/schema.ts';
import type { KubeObject } from '../meta.ts';
import { forbiddenField, invalidValue, type Findings } from './causes.ts';

/** Above it are only the priorities of the system. */
const highestOfUsers = 1_000_000_000;
/** Those that are there from the start, the only ones whose name may begin like that. */
export const systemPriorities: Readonly<Record<string, number>> = { 'system-cluster-critical': 2_000_000_000, 'system-node-critical': 2_000_001_000 };

export function priorityClassRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { metadata, value, globalDefault, preemptionPolicy } = object as unknown as PriorityClass;
  const { name } = metadata;
  const causes = [];
  if (name.startsWith('system-')) {
    const known = systemPriorities[name];
    const error = known === undefined ? `${name} is not a known system priority class` : known !== value ? `value of ${name} PriorityClass must be ${known}` : globalDefault === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
    if (error !== undefined) causes.push(forbiddenField('metadata.name', `priority class names with 'system-' prefix are reserved for system use only. error: ${error}`));
  } else if (value > highestOfUsers) causes.push(forbiddenField('value', `maximum allowed value of a user defined priority is ${highestOfUsers}`));
  const before = old as unknown as PriorityClass | undefined;
  if (before !== undefined && before.value !== value) causes.push(forbiddenField('value', 'may not be changed in an update.'));
  if (before !== undefined && before.preemptionPolicy !== preemptionPolicy) causes.push(invalidValue('preemptionPolicy', preemptionPolicy, 'field is immutable'));
  return { causes, warnings: [] };
}
