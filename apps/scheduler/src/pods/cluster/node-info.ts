import type { Node, Taint } from '@roundsman/api';
import { portsClash, type HostPort } from '../rules/host-ports.ts';
import type { Labels } from '../rules/label-selector.ts';
import type { PodInfo } from './pod-info.ts';
import { add, resourcesOf, subtract, type Resources } from './resources.ts';

/** A node and the pods that are on it or on their way to it, with their sums kept. */
export class NodeInfo {
  readonly node: Node;
  readonly allocatable: Resources;
  readonly #pods = new Map<string, PodInfo>();
  readonly #requested = new Map<string, number>();
  readonly #compared = new Map<string, number>();
  readonly #hostPorts = new Set<HostPort>();

  constructor(node: Node, pods: Iterable<PodInfo> = []) {
    this.node = node;
    this.allocatable = resourcesOf(node.status?.allocatable);
    for (const pod of pods) this.add(pod);
  }

  get name(): string {
    return this.node.metadata.name;
  }
  get labels(): Labels {
    return this.node.metadata.labels ?? {};
  }
  get taints(): readonly Taint[] {
    return this.node.spec?.taints ?? [];
  }
  get pods(): ReadonlyMap<string, PodInfo> {
    return this.#pods;
  }
  /** What its pods have set aside, by resource. */
  get requested(): Resources {
    return this.#requested;
  }
  /** The sum of `comparedRequests`. */
  get compared(): Resources {
    return this.#compared;
  }

  takesPort(port: HostPort): boolean {
    for (const taken of this.#hostPorts) if (portsClash(taken, port)) return true;
    return false;
  }

  condition(type: string): { readonly status: string; readonly message?: string | undefined } | undefined {
    return this.node.status?.conditions?.find((condition) => condition.type === type);
  }

  add(pod: PodInfo): void {
    this.remove(pod.uid);
    this.#pods.set(pod.uid, pod);
    add(this.#requested, pod.requests);
    add(this.#compared, pod.comparedRequests);
    for (const port of pod.hostPorts) this.#hostPorts.add(port);
  }

  remove(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#pods.delete(uid);
    subtract(this.#requested, pod.requests);
    subtract(this.#compared, pod.comparedRequests);
    for (const port of pod.hostPorts) this.#hostPorts.delete(port);
  }

  /** A copy to try something on. */
  copy(): NodeInfo {
    return new NodeInfo(this.node, this.#pods.values());
  }
}
