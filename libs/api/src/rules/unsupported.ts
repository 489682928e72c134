import type { AdmissionContext } from '../kind.ts';
import type { TaskKind } from '../round/work.ts';
import { unsupportedParts } from './capabilities.ts';
import { forbiddenField, type Findings } from './causes.ts';
import { knownCapabilities } from './cluster.ts';

export function unsupportedRules(kind: TaskKind, spec: { readonly agentSpec?: unknown; readonly target?: unknown }, context: AdmissionContext, found: Findings): void {
  for (const { field, why } of unsupportedParts(kind, spec, knownCapabilities(context))) notTested(field, why, context, found);
}

/** Refused in our own group; through the kdoctor view, by which old manifests come, only said. */
export function notTested(field: string, why: string, { view }: AdmissionContext, { causes, warnings }: Findings): void {
  if (view === undefined) causes.push(forbiddenField(field, why));
  else warnings.push(`${field}: not tested: ${why}`);
}
