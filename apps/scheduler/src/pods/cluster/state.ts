import type { Node } from '@roundsman/api';
import { ClassIndex } from './class-index.ts';
import type { Cluster } from './cluster.ts';
import { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

interface Placed {
  readonly pod: PodInfo;
  readonly node: string;
  /** Decided here, and not yet seen to be so. */
  readonly assumed: boolean;
}

/** The cluster as it is known now, with what was decided and is on its way. */
export class ClusterState implements Cluster {
  readonly namespaceLabels: Cluster['namespaceLabels'];
  readonly ownPods: Cluster['ownPods'];
  readonly storage: Cluster['storage'];
  readonly #nodes = new Map<string, NodeInfo>();
  /** By uid; also on nodes that are not known (any more): they may come back. */
  readonly #placed = new Map<string, Placed>();
  /** By uid: pods for which room is made on a node. */
  readonly #nominated = new Map<string, { readonly pod: PodInfo; readonly node: string }>();
  readonly #index = new ClassIndex();
  #list: readonly NodeInfo[] | undefined;

  constructor({ namespaceLabels, ownPods, storage }: Pick<Cluster, 'namespaceLabels' | 'ownPods' | 'storage'>) {
    this.namespaceLabels = namespaceLabels;
    this.ownPods = ownPods;
    this.storage = storage;
  }

  get nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#nodes.values()];
    return this.#list;
  }

  readonly node = (name: string): NodeInfo | undefined => this.#nodes.get(name);
  readonly classes: Cluster['classes'] = () => this.#index.all();
  readonly classesWithRules: Cluster['classesWithRules'] = () => this.#index.withRules();

  /** A node that is new or has changed. */
  setNode(node: Node): void {
    const { name } = node.metadata;
    const known = this.#nodes.get(name);
    const pods = known?.pods.values() ?? [...this.#placed.values()].flatMap((placed) => (placed.node === name ? [placed.pod] : []));
    this.#nodes.set(name, new NodeInfo(node, pods));
    this.#list = undefined;
  }

  removeNode(name: string): void {
    this.#nodes.delete(name);
    this.#list = undefined;
  }

  isAssumed(uid: string): boolean {
    return this.#placed.get(uid)?.assumed === true;
  }

  /** A pod is as good as on a node: its binding is on its way. */
  assume(pod: PodInfo, node: string): void {
    this.#put({ pod, node, assumed: true });
    this.#nominated.delete(pod.uid);
  }

  /** A pod is on a node. Answers what was known of it there before; undefined when that is news. */
  place(pod: PodInfo, node: string): PodInfo | undefined {
    const before = this.#placed.get(pod.uid);
    this.#put({ pod, node, assumed: false });
    this.#nominated.delete(pod.uid);
    return before?.assumed === false ? before.pod : undefined;
  }

  /** A pod is gone, or what was decided of it did not come true. Answers whether it had, or was promised, room. */
  remove(uid: string): boolean {
    const placed = this.#placed.get(uid);
    const nominated = this.#nominated.delete(uid);
    if (placed === undefined) return nominated;
    this.#take(placed);
    return true;
  }

  nominate(pod: PodInfo, node: string | undefined): void {
    if (node === undefined || node === '') this.#nominated.delete(pod.uid);
    else this.#nominated.set(pod.uid, { pod, node });
  }

  /** Pods for which room is made on a node. */
  readonly nominatedOn = (node: string): readonly PodInfo[] => {
    if (this.#nominated.size === 0) return [];
    return [...this.#nominated.values()].flatMap((nominated) => (nominated.node === node ? [nominated.pod] : []));
  };

  #put(placed: Placed): void {
    const { pod, node } = placed;
    const before = this.#placed.get(pod.uid);
    if (before !== undefined) this.#take(before);
    this.#placed.set(pod.uid, placed);
    this.#nodes.get(node)?.add(pod);
    this.#index.count(pod.class, node, 1);
  }

  #take({ pod, node }: Placed): void {
    this.#placed.delete(pod.uid);
    this.#nodes.get(node)?.remove(pod.uid);
    this.#index.count(pod.class, node, -1);
  }
}
