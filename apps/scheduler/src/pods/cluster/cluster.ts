import type { LabelCondition, Labels } from '../rules/label-selector.ts';
import type { Storage } from '../rules/storage.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodClass, PodInfo } from './pod-info.ts';

/** Where the pods of a class are. */
export interface PlacedClass {
  readonly class: PodClass;
  /** How many of them there are, by the name of the node. */
  readonly nodes: ReadonlyMap<string, number>;
}

/** All that filters and scores look at. Nothing of it changes while one pod is decided on. */
export interface Cluster {
  readonly nodes: readonly NodeInfo[];
  readonly node: (name: string) => NodeInfo | undefined;
  /** Of every pod that has a node. */
  readonly classes: () => Iterable<PlacedClass>;
  /** Of these, those with rules of their own about other pods. */
  readonly classesWithRules: () => Iterable<PlacedClass>;
  readonly namespaceLabels: (namespace: string) => Labels;
  /** Which pods the pod should be spread from unless it says so itself: those of its Services, and of its ReplicaSet or StatefulSet. */
  readonly ownPods: (pod: PodInfo) => LabelCondition | undefined;
  readonly storage: Storage;
}

/** How many pods of the wanted classes are on each node, by its name; nodes without any are left out. */
export function countPods(cluster: Cluster, isWanted: (one: PodClass) => boolean): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { class: one, nodes } of cluster.classes()) {
    if (isWanted(one)) for (const [name, pods] of nodes) counts.set(name, (counts.get(name) ?? 0) + pods);
  }
  return counts;
}

/** How many more pods of the wanted classes a node has than the cluster knows of: something may be tried on it. */
export function triedPods(cluster: Cluster, node: NodeInfo, isWanted: (one: PodClass) => boolean): number {
  const known = cluster.node(node.name);
  if (known === node) return 0;
  const count = (pods: Iterable<PodInfo>): number => [...pods].filter((pod) => isWanted(pod.class)).length;
  return count(node.pods.values()) - count(known?.pods.values() ?? []);
}
