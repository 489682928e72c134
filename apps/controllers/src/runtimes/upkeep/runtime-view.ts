import { runtimeLabels, type DaemonSet, type Deployment, type EndpointSlice, type Ingress, type IngressClass, type KubeObject, type Node, type Pod, type Service } from '@roundsman/api';
import { resources, type Cluster, type ClusterResource, type Followed } from '@roundsman/cluster';
import { installationLabel } from '../manifests/labels.ts';
import { readyOf } from '../status/nodes.ts';

export type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };
/** Everything that is made for a runtime itself: not what the cluster makes from it. */
const madeKinds = [resources.daemonSets, resources.deployments, resources.ingresses, resources.services, resources.secrets] as const;

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.labels?.[runtimeLabels.runtime] ?? ''}`;
/** What of a node says something about runtimes: its heartbeats do not. */
const essence = (node: Node): string => JSON.stringify([node.metadata.labels, node.spec, node.status?.addresses, readyOf(node)?.status, readyOf(node)?.message]);

/** What is followed in the Kubernetes API of all runtimes, whatever installation made them; runtimes are named `namespace/name`. */
export class RuntimeView {
  readonly daemonSets: Followed<DaemonSet>;
  readonly deployments: Followed<Deployment>;
  readonly pods: Followed<Pod>;
  readonly services: Followed<Service>;
  readonly slices: Followed<EndpointSlice & KubeObject>;
  readonly ingresses: Followed<Ingress>;
  readonly ingressClasses: Followed<IngressClass>;
  readonly secrets: Followed<Secret>;
  readonly nodes: Followed<Node>;
  readonly #all: readonly Followed<KubeObject>[];
  readonly #whenSynced: Promise<void>;
  #synced = false;

  constructor(cluster: Cluster) {
    const all: Followed<KubeObject>[] = [];
    const follow = <T extends KubeObject>(resource: ClusterResource, labelSelector?: string): Followed<T> => {
      const followed = cluster.follow<T>(resource, labelSelector === undefined ? {} : { labelSelector });
      all.push(followed as unknown as Followed<KubeObject>);
      return followed;
    };
    const label = runtimeLabels.runtime;
    this.daemonSets = follow(resources.daemonSets, label);
    this.deployments = follow(resources.deployments, label);
    this.pods = follow(resources.pods, label);
    this.services = follow(resources.services, label);
    this.slices = follow(resources.endpointSlices, label);
    this.ingresses = follow(resources.ingresses, label);
    this.secrets = follow(resources.secrets, label);
    this.ingressClasses = follow(resources.ingressClasses);
    this.nodes = follow(resources.nodes);
    this.#all = all;
    this.#whenSynced = Promise.all(all.map((one) => one.synced())).then(() => void (this.#synced = true));
    // Who does not wait for it is not to hear of its end.
    this.#whenSynced.catch(() => undefined);
  }

  /** All has been listed once. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Rejects when it is stopped before that. */
  whenSynced(): Promise<void> {
    return this.#whenSynced;
  }

  /** Why it may not be current. */
  problem(): string | undefined {
    for (const one of this.#all) {
      const problem = one.problem();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  stop(): void {
    for (const one of this.#all) one.stop();
  }

  /** Tells which runtimes a change concerns (undefined: all), and what is gone. */
  onChange(listener: (key: string | undefined, gone?: KubeObject) => void): () => void {
    const own = <T extends KubeObject>(followed: Followed<T>): (() => void) => followed.onChange(({ type, object }) => listener(keyOf(object), type === 'DELETED' ? object : undefined));
    const ends = [
      own(this.daemonSets), own(this.deployments), own(this.pods), own(this.services), own(this.slices), own(this.ingresses), own(this.secrets),
      this.ingressClasses.onChange(() => listener(undefined)),
      this.nodes.onChange(({ type, object, before }) => {
        if (type !== 'MODIFIED' || before === undefined || essence(before) !== essence(object)) listener(undefined);
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  #followedOf(resource: ClusterResource): Followed<KubeObject> {
    const byKind: Record<string, unknown> = { DaemonSet: this.daemonSets, Deployment: this.deployments, Ingress: this.ingresses, Service: this.services, Secret: this.secrets };
    return byKind[resource.kind] as Followed<KubeObject>;
  }

  /** Of the kinds that are made. */
  get(kind: string, namespace: string, name: string): KubeObject | undefined {
    const resource = madeKinds.find((one) => one.kind === kind);
    return resource === undefined ? undefined : this.#followedOf(resource).get(namespace, name);
  }

  /** All that this installation has made for a runtime and that is there. */
  madeFor(key: string, installation: string): { resource: ClusterResource; object: KubeObject }[] {
    return madeKinds.flatMap((resource) =>
      this.#followedOf(resource)
        .list()
        .filter((object) => keyOf(object) === key && object.metadata.labels?.[installationLabel] === installation)
        .map((object) => ({ resource, object })),
    );
  }

  /** Runtimes for which this installation has made something. */
  keys(installation: string): Set<string> {
    const keys = madeKinds.flatMap((resource) => this.#followedOf(resource).list().filter(({ metadata }) => metadata.labels?.[installationLabel] === installation).map(keyOf));
    return new Set(keys);
  }

  podsOf(key: string): Pod[] {
    return this.pods.list().filter((pod) => keyOf(pod) === key);
  }

  slicesOf(key: string): (EndpointSlice & KubeObject)[] {
    return this.slices.list().filter((slice) => keyOf(slice) === key);
  }

  servicesOf(key: string): Service[] {
    return this.services.list().filter((service) => keyOf(service) === key);
  }
}
