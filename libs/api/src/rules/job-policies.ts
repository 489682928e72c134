import type { Cause } from '../kind.ts';
import type { JobTemplateSpec } from '../kinds/job/schema.ts';
import { invalidValue, required, Verbatim } from './causes.ts';

/** A rule as a whole is not repeated. */
const wrongRule = (field: string, why: string): Cause => ({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${why}` });

/** Rules of `spec.podFailurePolicy`: each rule looks at one thing. */
export function failurePolicyCauses(spec: JobTemplateSpec, field: string): Cause[] {
  const { containers, initContainers = [] } = spec.template.spec;
  const names = [...containers, ...initContainers].map(({ name }) => name);
  return (spec.podFailurePolicy?.rules ?? []).flatMap(({ action, onExitCodes, onPodConditions }, index) => {
    const at = `${field}.rules[${index}]`;
    const causes: Cause[] = [];
    if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) causes.push(invalidValue(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'));
    if (onExitCodes !== undefined) causes.push(...exitCodeCauses(onExitCodes, names, `${at}.onExitCodes`));
    const conditions = (onPodConditions ?? []).length > 0;
    if (onExitCodes !== undefined && conditions) causes.push(wrongRule(at, 'specifying both OnExitCodes and OnPodConditions is not supported'));
    if (onExitCodes === undefined && !conditions) causes.push(wrongRule(at, 'specifying one of OnExitCodes and OnPodConditions is required'));
    return causes;
  });
}

type ExitCodes = NonNullable<NonNullable<JobTemplateSpec['podFailurePolicy']>['rules'][number]['onExitCodes']>;

function exitCodeCauses({ containerName, operator, values }: ExitCodes, names: readonly string[], field: string): Cause[] {
  const causes: Cause[] = [];
  if (containerName !== undefined && !names.includes(containerName)) causes.push(invalidValue(`${field}.containerName`, containerName, 'must be one of the container or initContainer names in the pod template'));
  if (values.length === 0) causes.push(invalidValue(`${field}.values`, new Verbatim('[]int32{}'), 'at least one value is required'));
  for (const [index, value] of values.entries()) if (operator === 'In' && value === 0) causes.push(invalidValue(`${field}.values[${index}]`, 0, 'must not be 0 for the In operator'));
  if (values.some((value, index) => index > 0 && value < values[index - 1]!)) causes.push(invalidValue(`${field}.values`, values, 'must be ordered'));
  return causes;
}

/** Rules of `spec.successPolicy`, which only an indexed job has. */
export function successPolicyCauses({ successPolicy, completions = 0 }: JobTemplateSpec, field: string): Cause[] {
  const rules = successPolicy?.rules ?? [];
  if (rules.length === 0) return [required(`${field}.rules`, 'at least one rules must be specified when the successPolicy is specified')];
  return rules.flatMap(({ succeededIndexes, succeededCount }, index) => {
    const at = `${field}.rules[${index}]`;
    if (succeededIndexes === undefined && succeededCount === undefined) return [required(at, 'at least one of succeededCount or succeededIndexes must be specified')];
    const causes: Cause[] = [];
    if (succeededIndexes !== undefined && !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(succeededIndexes)) {
      causes.push(invalidValue(`${at}.succeededIndexes`, succeededIndexes, 'error parsing succeededIndexes: must be indexes and ranges such as 0,2-5'));
    }
    if (succeededCount !== undefined && succeededCount < 0) causes.push(invalidValue(`${at}.succeededCount`, succeededCount, 'must be greater than or equal to 0'));
    if (succeededCount !== undefined && succeededCount > completions) causes.push(invalidValue(`${at}.succeededCount`, succeededCount, `must be less than or equal to ${completions} (the number of specified completions)`));
    return causes;
  });
}
