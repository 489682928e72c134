import { countPods, type Cluster } from '../cluster/cluster.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { labelOf } from '../rules/label-selector.ts';
import { hasAllTopologies, spreadConstraintsOf, type SpreadConstraint } from '../rules/spread-constraints.ts';
import { DomainCounts } from '../rules/topology.ts';
import { never, notNow, type Filter } from './filter.ts';

const text = "node(s) didn't match pod topology spread constraints";
const uneven = notNow(text);
const unlabeled = never(`${text} (missing required label)`);

/** topologySpreadConstraints with DoNotSchedule: with the pod, its domain may hold at most maxSkew more than the emptiest. */
export const podTopologySpread: Filter = {
  name: 'PodTopologySpread',
  helpedBy: ['node-added', 'node-removed', 'node-labels', 'node-taints', 'pod-placed', 'pod-labels', 'pod-gone'],
  prepare: (pod, cluster) => {
    const constraints = spreadConstraintsOf(pod, 'DoNotSchedule');
    if (constraints.length === 0) return undefined;
    const limits = constraints.map((constraint) => limit(constraint, constraints, pod, cluster));
    return (node) => {
      for (const { topologyKey, counts, most } of limits) {
        if (labelOf(node.labels, topologyKey) === undefined) return unlabeled;
        if (counts.of(node, topologyKey) > most) return uneven;
      }
      return undefined;
    };
  },
};

/** How many matching pods a domain may hold already, and how many each holds. */
function limit(constraint: SpreadConstraint, all: readonly SpreadConstraint[], pod: PodInfo, cluster: Cluster): { topologyKey: string; counts: DomainCounts; most: number } {
  const { topologyKey, maxSkew, minDomains, labels } = constraint;
  const counts = new DomainCounts();
  const matching = countPods(cluster, (one) => one.namespace === pod.namespace && !one.terminating && labels(one.labels));
  for (const node of cluster.nodes) if (hasAllTopologies(node, all) && constraint.counts(node)) counts.add(node, topologyKey, matching.get(node.name) ?? 0);
  const domains = [...counts.domains(topologyKey).values()];
  const emptiest = domains.length < minDomains ? 0 : Math.min(...domains);
  return { topologyKey, counts, most: maxSkew + emptiest - (labels(pod.labels) ? 1 : 0) };
}
