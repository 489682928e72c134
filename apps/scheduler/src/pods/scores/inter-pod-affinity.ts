import type { Cluster } from '../cluster/cluster.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { isAbout } from '../rules/pod-affinity.ts';
import { DomainCounts } from '../rules/topology.ts';
import { best, type Score } from './score.ts';

/** What a required term of a pod that is there counts for when it is about the new one. */
const requiredWeight = 1;

/** Preferred rules about being near and apart from other pods: the pod's own, and those of the pods that are there. */
export const preferredPodAffinity: Score = {
  name: 'InterPodAffinity',
  weight: 2,
  of: (pod, nodes, cluster) => {
    const sums = sumsByDomain(pod, cluster);
    if (sums.empty) return undefined;
    const keys = sums.keys;
    const raw = nodes.map((node) => keys.reduce((sum, key) => sum + sums.of(node, key), 0));
    const [least, most] = [Math.min(...raw), Math.max(...raw)];
    return most === least ? undefined : raw.map((sum) => Math.trunc((best * (sum - least)) / (most - least)));
  },
};

/** By topology key: the weights of all terms, the pod's own and those about it, times the pods concerned. */
function sumsByDomain(pod: PodInfo, cluster: Cluster): DomainCounts {
  const { namespaceLabels } = cluster;
  const { preferred } = pod.class.rules;
  const sums = new DomainCounts();
  for (const { class: one, nodes } of preferred.length > 0 ? cluster.classes() : cluster.classesWithRules()) {
    const weights = [
      ...preferred.filter((term) => isAbout(term, one, namespaceLabels)),
      ...one.rules.preferred.filter((term) => isAbout(term, pod, namespaceLabels)),
      ...one.rules.requiredNear.filter((term) => isAbout(term, pod, namespaceLabels)).map(({ topologyKey }) => ({ topologyKey, weight: requiredWeight })),
    ];
    if (weights.length === 0) continue;
    for (const [name, pods] of nodes) {
      const node = cluster.node(name);
      if (node !== undefined) for (const { topologyKey, weight } of weights) sums.add(node, topologyKey, weight * pods);
    }
  }
  return sums;
}
