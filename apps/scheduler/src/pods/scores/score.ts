import type { Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';

/** One view of how good nodes are for a pod: a pure function of the pod, the nodes that are left, and the cluster. */
export interface Score {
  readonly name: string;
  /** How much it counts beside the others. */
  readonly weight: number;
  /** One whole number from 0 to `best` for each node, in their order; undefined when it makes no difference. */
  readonly of: (pod: PodInfo, nodes: readonly NodeInfo[], cluster: Cluster) => readonly number[] | undefined;
}

export const best = 100;

/** Numbers of which more is better, as parts of the largest of them. */
export function partsOfLargest(amounts: readonly number[]): readonly number[] | undefined {
  const largest = Math.max(...amounts);
  return largest <= 0 ? undefined : amounts.map((amount) => Math.floor((best * amount) / largest));
}
