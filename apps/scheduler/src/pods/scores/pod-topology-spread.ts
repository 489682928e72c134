import { requiredNodes } from '@roundsman/api';
import { countPods, type Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { labelOf, type LabelCondition } from '../rules/label-selector.ts';
import { hasAllTopologies, spreadConstraintsOf, type SpreadConstraint } from '../rules/spread-constraints.ts';
import { DomainCounts } from '../rules/topology.ts';
import { best, type Score } from './score.ts';

const hostname = 'kubernetes.io/hostname';
/** Unless the pod has constraints of its own, those of one owner are spread over nodes, and over zones. */
const defaults = [
  { topologyKey: hostname, maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5 },
];

/** topologySpreadConstraints with ScheduleAnyway, or the default ones: the fewer matching pods in the node's domains the better. */
export const preferredSpread: Score = {
  name: 'PodTopologySpread',
  weight: 2,
  of: (pod, nodes, cluster) => {
    const own = (pod.pod.spec.topologySpreadConstraints ?? []).length > 0;
    const constraints = own ? spreadConstraintsOf(pod, 'ScheduleAnyway') : defaultConstraints(pod, cluster);
    if (constraints.length === 0) return undefined;
    // Nodes without a label of the pod's own constraints come last; without one of the defaults, only that one does not count.
    const scored = nodes.map((node) => !own || hasAllTopologies(node, constraints));
    const sums = new Float64Array(nodes.length);
    const counts = new Map<LabelCondition, ReadonlyMap<string, number>>();
    for (const constraint of constraints) {
      const { labels } = constraint;
      const matching = counts.get(labels) ?? countPods(cluster, (one) => one.namespace === pod.namespace && !one.terminating && labels(one.labels));
      counts.set(labels, matching);
      const crowds = crowdsOf(constraint, matching, nodes.filter((_, index) => scored[index]), own ? constraints : [], cluster);
      nodes.forEach((node, index) => {
        if (scored[index] && labelOf(node.labels, constraint.topologyKey) !== undefined) sums[index] = (sums[index] ?? 0) + crowds(node);
      });
    }
    const rounded = [...sums].map(Math.round);
    const counted = rounded.filter((_, index) => scored[index]);
    const [least, most] = [Math.min(...counted), Math.max(0, ...counted)];
    return rounded.map((sum, index) => (!scored[index] ? 0 : most === 0 ? best : Math.floor((best * (most + least - sum)) / most)));
  },
};

function defaultConstraints(pod: PodInfo, cluster: Cluster): SpreadConstraint[] {
  const labels = cluster.ownPods(pod);
  if (labels === undefined) return [];
  const chosen = requiredNodes(pod.pod.spec);
  return defaults.map((constraint) => ({ ...constraint, minDomains: 1, labels, counts: ({ node }) => chosen === undefined || chosen(node) }));
}

/**
 * How crowded the domain of a node is: its matching pods, times the logarithm of the number of domains (so that few large domains do not
 * outweigh many small ones), and maxSkew - 1, which waters differences down.
 */
function crowdsOf({ topologyKey, maxSkew, counts }: SpreadConstraint, matching: ReadonlyMap<string, number>, nodes: readonly NodeInfo[], all: readonly SpreadConstraint[], cluster: Cluster): (node: NodeInfo) => number {
  if (topologyKey === hostname) {
    const weight = Math.log(nodes.length + 2);
    return (node) => (matching.get(node.name) ?? 0) * weight + maxSkew - 1;
  }
  const crowds = new DomainCounts();
  // Only domains with a node to choose count.
  for (const node of nodes) crowds.add(node, topologyKey, 0);
  const domains = crowds.domains(topologyKey);
  for (const node of cluster.nodes) {
    const domain = labelOf(node.labels, topologyKey);
    if (domain !== undefined && domains.has(domain) && hasAllTopologies(node, all) && counts(node)) crowds.add(node, topologyKey, matching.get(node.name) ?? 0);
  }
  const weight = Math.log(domains.size + 2);
  return (node) => crowds.of(node, topologyKey) * weight + maxSkew - 1;
}
