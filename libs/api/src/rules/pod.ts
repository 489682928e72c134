import type { AdmissionContext } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import type { Pod } from '../kinds/pod/schema.ts';
import { forbiddenField, type Findings } from './causes.ts';
import { podSpecCauses } from './pod/spec.ts';
import { unsupportedByAgents } from './pod/unsupported.ts';
import { podUpdateCauses } from './pod/update.ts';

/** Rules of pods. */
export function podRules(object: KubeObject, { old }: Pick<AdmissionContext, 'old'>): Findings {
  const { spec } = object as Pod;
  const causes = podSpecCauses(spec, 'spec', { isPod: true });
  const unsupported = old === undefined ? unsupportedByAgents(spec) : { causes: [], warnings: [] };
  causes.push(...unsupported.causes);
  if (old !== undefined) causes.push(...podUpdateCauses(spec, (old as Pod).spec));
  else {
    if ((spec.ephemeralContainers ?? []).length > 0) causes.push(forbiddenField('spec.ephemeralContainers', 'cannot be set on create'));
    if ((spec.nodeName ?? '') !== '' && (spec.schedulingGates ?? []).length > 0) causes.push(forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return { causes, warnings: unsupported.warnings };
}
