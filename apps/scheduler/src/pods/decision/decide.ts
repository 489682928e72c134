import type { Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { filters } from '../filters/all.ts';
import type { Filter, NodeCheck, Refusal } from '../filters/filter.ts';
import { scores } from '../scores/all.ts';

/** A refusal and the filter that it came from. */
export interface Refused extends Refusal {
  readonly filter: Filter;
}
/** Why each node was refused, by its name. */
export type Refusals = ReadonlyMap<string, Refused>;

export type Decision = { readonly node: NodeInfo } | { readonly node?: undefined; readonly refusals: Refusals };

export interface DecideOptions {
  /** Pods for which room is being made on a node: they count as there for pods of no higher priority. */
  readonly nominated: (node: string) => readonly PodInfo[];
  /** 0 to 1; chooses between nodes that are equally good. */
  readonly random: () => number;
}

/** The best node for a pod, or why there is none. Changes nothing. */
export function decide(pod: PodInfo, cluster: Cluster, { nominated, random }: DecideOptions): Decision {
  const fits = fitness(pod, cluster, nominated);
  const wanted = pod.pod.status?.nominatedNodeName;
  const promised = wanted === undefined ? undefined : cluster.nodes.find(({ name }) => name === wanted);
  // Room was made for it there.
  if (promised !== undefined && fits(promised) === undefined) return { node: promised };
  const refusals = new Map<string, Refused>();
  const left: NodeInfo[] = [];
  for (const node of cluster.nodes) {
    const refused = fits(node);
    if (refused === undefined) left.push(node);
    else refusals.set(node.name, refused);
  }
  const node = bestOf(pod, left, cluster, random);
  return node === undefined ? { refusals } : { node };
}

/** Whether the pod fits on a node (which may be a copy to try something on), also beside the pods that room is made for. */
export function fitness(pod: PodInfo, cluster: Cluster, nominated: DecideOptions['nominated']): (node: NodeInfo) => Refused | undefined {
  const check = checkAll(pod, cluster);
  return (node) => {
    const refused = check(node);
    if (refused !== undefined) return refused;
    const coming = nominated(node.name).filter(({ uid, priority }) => uid !== pod.uid && priority >= pod.priority && !node.pods.has(uid));
    if (coming.length === 0) return undefined;
    const later = node.copy();
    for (const one of coming) later.add(one);
    return check(later);
  };
}

function checkAll(pod: PodInfo, cluster: Cluster): (node: NodeInfo) => Refused | undefined {
  const checks: { readonly filter: Filter; readonly check: NodeCheck }[] = [];
  for (const filter of filters) {
    const check = filter.prepare(pod, cluster);
    if (check !== undefined) checks.push({ filter, check });
  }
  return (node) => {
    for (const { filter, check } of checks) {
      const refusal = check(node);
      if (refusal !== undefined) return { ...refusal, filter };
    }
    return undefined;
  };
}

function bestOf(pod: PodInfo, nodes: readonly NodeInfo[], cluster: Cluster, random: () => number): NodeInfo | undefined {
  if (nodes.length <= 1) return nodes[0];
  const totals = new Float64Array(nodes.length);
  for (const { weight, of } of scores) of(pod, nodes, cluster)?.forEach((score, index) => (totals[index] = (totals[index] ?? 0) + weight * score));
  const highest = Math.max(...totals);
  const equal = nodes.filter((_, index) => totals[index] === highest);
  return equal[Math.min(equal.length - 1, Math.floor(random() * equal.length))];
}
