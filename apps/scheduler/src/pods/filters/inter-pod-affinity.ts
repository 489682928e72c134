import { countPods, type Cluster } from '../cluster/cluster.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { labelOf } from '../rules/label-selector.ts';
import { isAbout, type AffinityTerm } from '../rules/pod-affinity.ts';
import { DomainCounts } from '../rules/topology.ts';
import { never, notNow, type Filter } from './filter.ts';

const notNear = never("node(s) didn't match pod affinity rules");
const notApart = notNow("node(s) didn't match pod anti-affinity rules");
const unwelcome = notNow("node(s) didn't satisfy existing pods anti-affinity rules");

/** Required rules about being near and apart from other pods: the pod's own, and those of the pods that are there. */
export const interPodAffinity: Filter = {
  name: 'InterPodAffinity',
  helpedBy: ['node-added', 'node-labels', 'pod-placed', 'pod-labels', 'pod-gone', 'namespace-labels'],
  prepare: (pod, cluster) => {
    const { requiredNear: near, requiredApart: apart } = pod.class.rules;
    const repelled = repelledDomains(pod, cluster);
    if (near.length === 0 && apart.length === 0 && repelled.empty) return undefined;
    // A pod counts for nearness when it fits all terms.
    const friends = near.length === 0 ? new DomainCounts() : domainsOf(near, cluster, (one) => near.every((term) => isAbout(term, one, cluster.namespaceLabels)));
    // The first of a group that wants to be together has nobody to be near to.
    const first = friends.empty && near.every((term) => isAbout(term, pod, cluster.namespaceLabels));
    const foes = apart.map((term) => ({ term, counts: domainsOf([term], cluster, (one) => isAbout(term, one, cluster.namespaceLabels)) }));
    return (node) => {
      if (near.some(({ topologyKey }) => labelOf(node.labels, topologyKey) === undefined)) return notNear;
      if (!first && near.some(({ topologyKey }) => friends.of(node, topologyKey) === 0)) return notNear;
      if (foes.some(({ term, counts }) => counts.of(node, term.topologyKey) > 0)) return notApart;
      return repelled.keys.some((key) => repelled.of(node, key) > 0) ? unwelcome : undefined;
    };
  },
};

/** How many wanted pods there are in each domain of these terms; domains without any are left out. */
function domainsOf(terms: readonly AffinityTerm[], cluster: Cluster, wanted: Parameters<typeof countPods>[1]): DomainCounts {
  const counts = new DomainCounts();
  for (const [name, pods] of countPods(cluster, wanted)) {
    const node = cluster.node(name);
    if (node !== undefined) for (const { topologyKey } of terms) counts.add(node, topologyKey, pods);
  }
  return counts;
}

/** Where pods are that want to be apart from such a pod. */
function repelledDomains(pod: PodInfo, cluster: Cluster): DomainCounts {
  const counts = new DomainCounts();
  for (const { class: one, nodes } of cluster.classesWithRules()) {
    for (const term of one.rules.requiredApart) {
      if (!isAbout(term, pod, cluster.namespaceLabels)) continue;
      for (const [name, pods] of nodes) {
        const node = cluster.node(name);
        if (node !== undefined) counts.add(node, term.topologyKey, pods);
      }
    }
  }
  return counts;
}
