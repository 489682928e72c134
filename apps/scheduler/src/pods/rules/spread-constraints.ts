import { requiredNodes, type TopologySpreadConstraint } from '@roundsman/api';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { labelOf, selectorCondition, withOwnLabels, type LabelCondition } from './label-selector.ts';
import { untoleratedTaint } from './taints.ts';

/** One rule by which pods are spread over the values of a label of nodes. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  /** With fewer domains the emptiest one counts as empty. */
  readonly minDomains: number;
  /** Which pods are counted, of the pod's own namespace. */
  readonly labels: LabelCondition;
  /** Whether the node's pods are counted: by default only on nodes that the pod may choose. */
  readonly counts: (node: NodeInfo) => boolean;
}

export function spreadConstraintsOf(info: PodInfo, whenUnsatisfiable: TopologySpreadConstraint['whenUnsatisfiable']): SpreadConstraint[] {
  const { pod, labels } = info;
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter((constraint) => constraint.whenUnsatisfiable === whenUnsatisfiable);
  if (constraints.length === 0) return [];
  const chosen = requiredNodes(pod.spec);
  return constraints.map(({ topologyKey, maxSkew, minDomains, labelSelector, matchLabelKeys, nodeAffinityPolicy, nodeTaintsPolicy }) => ({
    topologyKey,
    maxSkew,
    minDomains: minDomains ?? 1,
    labels: selectorCondition(withOwnLabels(labelSelector, labels, matchLabelKeys)),
    counts: (node) =>
      (nodeAffinityPolicy === 'Ignore' || chosen === undefined || chosen(node.node)) && (nodeTaintsPolicy !== 'Honor' || untoleratedTaint(node.taints, pod.spec.tolerations) === undefined),
  }));
}

export const hasAllTopologies = (node: NodeInfo, constraints: readonly SpreadConstraint[]): boolean => constraints.every(({ topologyKey }) => labelOf(node.labels, topologyKey) !== undefined);
