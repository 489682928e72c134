import type { Cluster } from '../cluster/cluster.ts';
import type { PodInfo, PodClass } from '../cluster/pod-info.ts';
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
function sumsByDomain(pod: PodInfo, { nodes, namespaceLabels }: Cluster): DomainCounts {
  const sums = new DomainCounts();
  const { preferred } = pod.class.rules;
  const weights = new Map<string, { topologyKey: string; weight: number }[]>();
  const weightsOf = (one: PodClass): { topologyKey: string; weight: number }[] => {
    let known = weights.get(one.key);
    if (known === undefined) {
      known = [
        ...preferred.filter((term) => isAbout(term, one, namespaceLabels)),
        ...one.rules.preferred.filter((term) => isAbout(term, pod, namespaceLabels)),
        ...one.rules.requiredNear.filter((term) => isAbout(term, pod, namespaceLabels)).map(({ topologyKey }) => ({ topologyKey, weight: requiredWeight })),
      ];
      weights.set(one.key, known);
    }
    return known;
  };
  for (const node of nodes) {
    for (const { class: one, pods } of preferred.length > 0 ? node.classes : node.classesWithRules) {
      for (const { topologyKey, weight } of weightsOf(one)) sums.add(node, topologyKey, weight * pods);
    }
  }
  return sums;
}
