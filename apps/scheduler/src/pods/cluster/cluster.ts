import type { LabelCondition, Labels } from '../rules/label-selector.ts';
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
  /** Of every pod that has a node; a class may come more than once. */
  readonly classes: () => Iterable<PlacedClass>;
  /** Of these, those with rules of their own about other pods. */
  readonly classesWithRules: () => Iterable<PlacedClass>;
  readonly namespaceLabels: (namespace: string) => Labels;
  /** Which pods the pod should be spread from unless it says so itself: those of its ReplicaSet or StatefulSet. */
  readonly ownPods: (pod: PodInfo) => LabelCondition | undefined;
}

/** The cluster with one node as it would be. */
export function withNode(cluster: Cluster, changed: NodeInfo): Cluster {
  const { name } = changed;
  function* replaced(classes: Iterable<PlacedClass>, isWanted: (one: PodClass) => boolean): Iterable<PlacedClass> {
    for (const placed of classes) yield placed.nodes.has(name) ? { class: placed.class, nodes: new Map([...placed.nodes].filter(([node]) => node !== name)) } : placed;
    for (const pod of changed.pods.values()) if (isWanted(pod.class)) yield { class: pod.class, nodes: new Map([[name, 1]]) };
  }
  return {
    nodes: cluster.nodes.map((node) => (node.name === name ? changed : node)),
    node: (wanted) => (wanted === name ? changed : cluster.node(wanted)),
    classes: () => replaced(cluster.classes(), () => true),
    classesWithRules: () => replaced(cluster.classesWithRules(), ({ hasRules }) => hasRules),
    namespaceLabels: cluster.namespaceLabels,
    ownPods: cluster.ownPods,
  };
}

/** How many pods of the wanted classes are on each node, by its name; nodes without any are left out. */
export function countPods(cluster: Cluster, isWanted: (one: PodClass) => boolean): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { class: one, nodes } of cluster.classes()) {
    if (isWanted(one)) for (const [name, pods] of nodes) counts.set(name, (counts.get(name) ?? 0) + pods);
  }
  return counts;
}
