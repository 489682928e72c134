import { countPods, triedPods, type Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
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
    const { namespaceLabels } = cluster;
    // A pod counts for nearness when it fits all terms.
    const isFriend = (one: Other): boolean => near.every((term) => isAbout(term, one, namespaceLabels));
    const friends = near.length === 0 ? new DomainCounts() : domainsOf(near, cluster, isFriend);
    const allFriends = friends.total;
    const foes = apart.map((term) => {
      const isFoe = (one: Other): boolean => isAbout(term, one, namespaceLabels);
      return { topologyKey: term.topologyKey, isFoe, counts: domainsOf([term], cluster, isFoe) };
    });
    const repelled = repelledDomains(pod, cluster);

    const isNear = (node: NodeInfo): boolean => {
      const tried = triedPods(cluster, node, isFriend);
      // The first of a group that wants to be together has nobody to be near to.
      if (allFriends + tried * near.length === 0 && isFriend(pod)) return true;
      return near.every(({ topologyKey }) => friends.of(node, topologyKey) + tried > 0);
    };
    return (node) => {
      const has = (key: string): boolean => labelOf(node.labels, key) !== undefined;
      if (near.length > 0 && !(near.every(({ topologyKey }) => has(topologyKey)) && isNear(node))) return notNear;
      if (foes.some(({ topologyKey, isFoe, counts }) => has(topologyKey) && counts.of(node, topologyKey) + triedPods(cluster, node, isFoe) > 0)) return notApart;
      const known = cluster.node(node.name);
      if (known === node) return repelled.keys.some((key) => repelled.of(node, key) > 0) ? unwelcome : undefined;
      const tried = repelling(pod, node, namespaceLabels);
      const before = known === undefined ? new Map<string, number>() : repelling(pod, known, namespaceLabels);
      return [...new Set([...repelled.keys, ...tried.keys()])].some((key) => has(key) && repelled.of(node, key) + (tried.get(key) ?? 0) - (before.get(key) ?? 0) > 0) ? unwelcome : undefined;
    };
  },
};

type Other = Pick<PodInfo, 'namespace' | 'labels'>;

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

/** By topology key, how many terms of pods on this node want to be apart from such a pod. */
function repelling(pod: PodInfo, { pods }: NodeInfo, namespaceLabels: Cluster['namespaceLabels']): Map<string, number> {
  const counts = new Map<string, number>();
  for (const other of pods.values()) {
    for (const term of other.class.rules.requiredApart) if (isAbout(term, pod, namespaceLabels)) counts.set(term.topologyKey, (counts.get(term.topologyKey) ?? 0) + 1);
  }
  return counts;
}
