import type { LabelSelector, Service } from '@roundsman/api';
import { selectorCondition, type LabelCondition, type Labels } from './label-selector.ts';

/**
 * Which pods do the same as one with these labels, so that one had better not lose all of them together: those that every service that chooses it also chooses, and its
 * owner (`selector` of its ReplicaSet or StatefulSet). undefined: nobody chooses it.
 */
export function pooled(labels: Labels, services: readonly Service[], selector: LabelSelector | undefined): LabelCondition | undefined {
  const wanted: Record<string, string> = {};
  for (const { spec } of services) {
    const own = Object.entries(spec.selector ?? {});
    if (own.length > 0 && own.every(([key, value]) => labels[key] === value)) Object.assign(wanted, spec.selector);
  }
  if (selector === undefined) return Object.keys(wanted).length === 0 ? undefined : selectorCondition({ matchLabels: wanted });
  return selectorCondition({ matchLabels: { ...selector.matchLabels, ...wanted }, matchExpressions: selector.matchExpressions });
}
