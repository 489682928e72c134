import { countPods, triedPods, type Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodClass, PodInfo } from '../cluster/pod-info.ts';
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
    const limits = constraints.map((constraint) => ({ topologyKey: constraint.topologyKey, isEven: evenness(constraint, constraints, pod, cluster) }));
    return (node) => {
      for (const { topologyKey, isEven } of limits) {
        if (labelOf(node.labels, topologyKey) === undefined) return unlabeled;
        if (!isEven(node)) return uneven;
      }
      return undefined;
    };
  },
};

function evenness(constraint: SpreadConstraint, all: readonly SpreadConstraint[], pod: PodInfo, cluster: Cluster): (node: NodeInfo) => boolean {
  const { topologyKey, maxSkew, minDomains, labels } = constraint;
  const isMatching = (one: PodClass): boolean => one.namespace === pod.namespace && !one.terminating && labels(one.labels);
  const counts = new DomainCounts();
  const matching = countPods(cluster, isMatching);
  for (const node of cluster.nodes) if (hasAllTopologies(node, all) && constraint.counts(node)) counts.add(node, topologyKey, matching.get(node.name) ?? 0);
  const domains = counts.domains(topologyKey);
  const emptiest = (pods: Iterable<number>): number => (domains.size < minDomains ? 0 : Math.min(...pods));
  const known = emptiest(domains.values());
  const itself = labels(pod.labels) ? 1 : 0;
  return (node) => {
    const tried = hasAllTopologies(node, all) && constraint.counts(node) ? triedPods(cluster, node, isMatching) : 0;
    const here = counts.of(node, topologyKey) + tried;
    const own = labelOf(node.labels, topologyKey);
    const least = tried === 0 ? known : emptiest([...domains].map(([domain, pods]) => (domain === own ? here : pods)));
    return here + itself - least <= maxSkew;
  };
}
