import type { Labels, LabelCondition } from '../rules/label-selector.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodClass, PodInfo } from './pod-info.ts';

/** All that filters and scores look at. Nothing of it changes while one pod is decided on. */
export interface Cluster {
  readonly nodes: readonly NodeInfo[];
  readonly namespaceLabels: (namespace: string) => Labels;
  /** Which pods the pod should be spread from unless it says so itself: those of its ReplicaSet or StatefulSet. */
  readonly ownPods: (pod: PodInfo) => LabelCondition | undefined;
}

/** The cluster with one node as it would be. */
export const withNode = (cluster: Cluster, changed: NodeInfo): Cluster => ({ ...cluster, nodes: cluster.nodes.map((node) => (node.name === changed.name ? changed : node)) });

/** Counts the pods of a node whose class is wanted; each class is asked about once. */
export function podCounter(wanted: (one: PodClass) => boolean): (node: NodeInfo) => number {
  const asked = new Map<string, boolean>();
  return (node) => {
    let total = 0;
    for (const { class: one, pods } of node.classes) {
      let answer = asked.get(one.key);
      if (answer === undefined) asked.set(one.key, (answer = wanted(one)));
      if (answer) total += pods;
    }
    return total;
  };
}
