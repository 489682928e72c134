import type { Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';

/** Why a node is refused, in Kubernetes' words. */
export interface Refusal {
  readonly reasons: readonly string[];
  /** Whether removing pods could help. */
  readonly preemptible: boolean;
  /** The pod is refused, not the node: told once, without a count of nodes. */
  readonly ofPod?: boolean;
}

/** The node may be a copy of the one in the cluster on which pods were put or taken away for trial; then it counts as it is given. */
export type NodeCheck = (node: NodeInfo) => Refusal | undefined;

/** Something that happened and may let a pod be placed that could not. */
export type Happening =
  | 'node-added'
  | 'node-removed'
  | 'node-allocatable'
  | 'node-labels'
  /** Also cordoning. */
  | 'node-taints'
  | 'node-conditions'
  | 'pod-placed'
  | 'pod-labels'
  | 'pod-gone'
  | 'namespace-labels'
  /** Of claims, volumes or classes of storage. */
  | 'storage';

/** One rule by which nodes are refused: a pure function of the pod and the cluster. */
export interface Filter {
  readonly name: string;
  /** A pod that this refused is tried again when one of these happens. */
  readonly helpedBy: readonly Happening[];
  /** Works out what is the same for every node; undefined when the pod is welcome everywhere as far as this is concerned. */
  readonly prepare: (pod: PodInfo, cluster: Cluster) => NodeCheck | undefined;
}

/** Whatever pods are removed, the node stays refused. */
export const never = (...reasons: string[]): Refusal => ({ reasons, preemptible: false });
/** Pods that are in the way could be removed. */
export const notNow = (...reasons: string[]): Refusal => ({ reasons, preemptible: true });
