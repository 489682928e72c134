import type { KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, Service, StatefulSet, StorageClass } from '@roundsman/api';
import type { Informer, Replica } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { Cluster } from './cluster/cluster.ts';
import { pooled } from './rules/pooled-pods.ts';

/** What placing pods reads. Kept by the standby too, so that it can take over at once. */
export class PodCaches implements Pick<Cluster, 'namespaceLabels' | 'ownPods' | 'storage'> {
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly namespaces: Informer;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly storageClasses: Informer<StorageClass & KubeObject>;
  readonly #services: Informer<Service>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #statefulSets: Informer<StatefulSet>;

  constructor(
    /** Committed objects, read past the caches where being a moment behind would matter. */
    readonly reader: Pick<Store, 'get' | 'head'>,
    replica: Pick<Replica, 'informer'>,
  ) {
    this.pods = replica.informer<Pod>('pods');
    this.nodes = replica.informer<Node>('nodes');
    this.namespaces = replica.informer<KubeObject>('namespaces');
    this.budgets = replica.informer<PodDisruptionBudget>('poddisruptionbudgets.policy');
    this.claims = replica.informer<PersistentVolumeClaim>('persistentvolumeclaims');
    this.volumes = replica.informer<PersistentVolume>('persistentvolumes');
    this.storageClasses = replica.informer<StorageClass & KubeObject>('storageclasses.storage.k8s.io');
    this.#services = replica.informer<Service>('services', [], { namespace: ({ metadata }) => metadata.namespace });
    this.#replicaSets = replica.informer<ReplicaSet>('replicasets.apps');
    this.#statefulSets = replica.informer<StatefulSet>('statefulsets.apps');
  }

  readonly storage: Cluster['storage'] = {
    claim: (namespace, name) => this.claims.get(namespace, name),
    volume: (name) => this.volumes.get(undefined, name),
    volumes: () => this.volumes.list(),
    storageClass: (name) => this.storageClasses.get(undefined, name),
  };

  readonly namespaceLabels: Cluster['namespaceLabels'] = (namespace) => this.namespaces.get(undefined, namespace)?.metadata.labels ?? {};

  readonly ownPods: Cluster['ownPods'] = ({ pod, namespace, labels }) => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const owners = owner?.kind === 'ReplicaSet' ? this.#replicaSets : owner?.kind === 'StatefulSet' ? this.#statefulSets : undefined;
    const found = owner === undefined ? undefined : owners?.get(namespace, owner.name);
    return pooled(labels, this.#services.by('namespace', namespace), found?.spec.selector);
  };
}
