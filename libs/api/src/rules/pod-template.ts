import type { Cause } from '../kind.ts';
import type { PodTemplateSpec } from '../kinds/workload/template.ts';
import type { LabelSelector } from '../kinds/workload/selector.ts';
import { selectorOperators, selects } from '../label-selector.ts';
import { qualifiedNameProblem } from '../names.ts';
import { forbiddenField, invalidValue, named } from './causes.ts';
import { goMap, goSelector } from './go-syntax.ts';
import { labelCauses } from './pod/placement.ts';
import { podSpecCauses } from './pod/spec.ts';

/** Rules of what pods are made from, without those of a workload (its selector, its restart policy). */
export function podTemplateCauses({ metadata, spec }: PodTemplateSpec, field: string): Cause[] {
  return [
    ...labelCauses(metadata.labels ?? {}, `${field}.labels`),
    ...Object.keys(metadata.annotations ?? {}).flatMap((key) => named(`${field}.annotations`, key, qualifiedNameProblem(key.toLowerCase()))),
    ...podSpecCauses(spec, `${field}.spec`, { isPod: false }),
    ...((spec.ephemeralContainers ?? []).length > 0 ? [forbiddenField(`${field}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')] : []),
  ];
}

/** Pods that their workload would not find. */
export function selectorMatchCauses({ metadata }: PodTemplateSpec, selector: LabelSelector, field: string): Cause[] {
  if ((selector.matchExpressions ?? []).some(({ operator }) => !selectorOperators.includes(operator))) return [invalidValue('spec.selector', goSelector(selector), 'invalid label selector')];
  const empty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  if (empty || selects(selector, metadata.labels)) return [];
  return [invalidValue(`${field}.metadata.labels`, goMap(metadata.labels), '`selector` does not match template `labels`')];
}
