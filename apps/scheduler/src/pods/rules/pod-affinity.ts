import type { PodAffinityTerm, PodSpec } from '@roundsman/api';
import { selectorCondition, withOwnLabels, type LabelCondition, type Labels } from './label-selector.ts';

/** Which other pods a term is about, and what being near them means. */
export interface AffinityTerm {
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceLabels: LabelCondition;
  readonly labels: LabelCondition;
  /** 1 to 100, positive to attract and negative to repel; 0 for a required term. */
  readonly weight: number;
}

export interface PodAffinityRules {
  readonly requiredNear: readonly AffinityTerm[];
  readonly requiredApart: readonly AffinityTerm[];
  /** Near and apart, by the sign of the weight. */
  readonly preferred: readonly AffinityTerm[];
}

export const noAffinityRules: PodAffinityRules = { requiredNear: [], requiredApart: [], preferred: [] };

export function affinityRulesOf(spec: PodSpec, namespace: string, labels: Labels): PodAffinityRules {
  const { podAffinity: near, podAntiAffinity: apart } = spec.affinity ?? {};
  if (near === undefined && apart === undefined) return noAffinityRules;
  const term = (one: PodAffinityTerm, weight: number): AffinityTerm => affinityTerm(one, weight, namespace, labels);
  return {
    requiredNear: (near?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => term(one, 0)),
    requiredApart: (apart?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => term(one, 0)),
    preferred: [
      ...(near?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) => term(podAffinityTerm, weight)),
      ...(apart?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) => term(podAffinityTerm, -weight)),
    ],
  };
}

/** A term that names no namespaces, neither by name nor by labels, is about the pod's own. */
function affinityTerm(term: PodAffinityTerm, weight: number, namespace: string, labels: Labels): AffinityTerm {
  const { topologyKey, namespaces = [], namespaceSelector, labelSelector, matchLabelKeys, mismatchLabelKeys } = term;
  return {
    topologyKey,
    namespaces: new Set(namespaces.length === 0 && namespaceSelector === undefined ? [namespace] : namespaces),
    namespaceLabels: selectorCondition(namespaceSelector),
    labels: selectorCondition(withOwnLabels(labelSelector, labels, matchLabelKeys, mismatchLabelKeys)),
    weight,
  };
}

/** Whether the term is about such a pod. */
export const isAbout = (term: AffinityTerm, pod: { readonly namespace: string; readonly labels: Labels }, namespaceLabels: (namespace: string) => Labels): boolean =>
  term.labels(pod.labels) && (term.namespaces.has(pod.namespace) || term.namespaceLabels(namespaceLabels(pod.namespace)));
