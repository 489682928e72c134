import { numberAt, textAt } from '../columns.ts';
import type { KubeObject } from '../meta.ts';
import { invalidValue, nonNegative, type Findings } from './causes.ts';

export function leaseRules(object: KubeObject): Findings {
  const seconds = numberAt(object, 'spec', 'leaseDurationSeconds');
  const causes = seconds !== undefined && seconds <= 0 ? [invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0')] : [];
  causes.push(...nonNegative('spec.leaseTransitions', numberAt(object, 'spec', 'leaseTransitions')));
  for (const member of ['acquireTime', 'renewTime']) {
    const time = textAt(object, 'spec', member);
    if (time !== undefined && !microTime.test(time)) causes.push(invalidValue(`spec.${member}`, time, 'must be a time in RFC 3339, such as 2006-01-02T15:04:05.000000Z'));
  }
  return { causes, warnings: [] };
}

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
