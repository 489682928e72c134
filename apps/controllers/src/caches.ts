import {
  resourceKey, serviceKeyOf, storedKinds, taskKinds, taskLabels, taskResources,
  type AnyTask, type ControllerRevision, type CronJob, type DaemonSet, type Deployment, type Dns, type Endpoints, type EndpointSlice, type HorizontalPodAutoscaler, type Ingress, type IngressClass, type Job, type KubeObject,
  type Lease, type Node, type PersistentVolume, type PersistentVolumeClaim, type Pod, type PodDisruptionBudget, type ReplicaSet, type Round, type Runner, type Runtime, type Service, type StatefulSet, type StorageClass, type TaskKind,
} from '@roundsman/api';
import type { Informer, Replica } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import { controllerOf } from './owner.ts';

/** What the controllers read: every stored kind. Kept by the standby too, so that it can take over at once. Objects in it are shared: never change them. */
export class Caches {
  readonly tasks: Readonly<Record<TaskKind, Informer<AnyTask>>>;
  readonly rounds: Informer<Round>;
  readonly runners: Informer<Runner>;
  /** Index: `task`, by uid of the task that it carries. */
  readonly runtimes: Informer<Runtime>;
  readonly nodes: Informer<Node>;
  readonly events: Informer;
  /** Indexes: `node`, `namespace`, and `orphansIn` (namespace of those without a controller). */
  readonly pods: Informer<Pod>;
  /** Index: `namespace`, as of all workloads. */
  readonly deployments: Informer<Deployment>;
  /** Index besides: `orphansIn`. */
  readonly replicaSets: Informer<ReplicaSet>;
  readonly daemonSets: Informer<DaemonSet>;
  readonly statefulSets: Informer<StatefulSet>;
  readonly controllerRevisions: Informer<ControllerRevision & KubeObject>;
  readonly jobs: Informer<Job>;
  readonly cronJobs: Informer<CronJob>;
  readonly disruptionBudgets: Informer<PodDisruptionBudget>;
  /** Index: `namespace`. */
  readonly autoscalers: Informer<HorizontalPodAutoscaler>;
  /** Index: `namespace`. */
  readonly services: Informer<Service>;
  readonly endpoints: Informer<Endpoints & KubeObject>;
  /** Index: `service`, by `namespace/name` of the service that it names. */
  readonly endpointSlices: Informer<EndpointSlice & KubeObject>;
  /** Index: `namespace`. */
  readonly ingresses: Informer<Ingress>;
  readonly ingressClasses: Informer<IngressClass>;
  /** Index: `namespace`. */
  readonly dnses: Informer<Dns>;
  readonly configMaps: Informer;
  readonly secrets: Informer;
  readonly persistentVolumes: Informer<PersistentVolume>;
  /** Index: `namespace`. */
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly storageClasses: Informer<StorageClass & KubeObject>;
  readonly namespaces: Informer;
  readonly serviceAccounts: Informer;
  readonly leases: Informer<Lease>;
  /** By resource key: `pods`, `deployments.apps`. All stored kinds. */
  readonly all: ReadonlyMap<string, Informer>;
  readonly #store: Pick<Store, 'get'>;

  constructor(store: Pick<Store, 'get'>, replica: Pick<Replica, 'informer'>) {
    this.#store = store;
    const all = new Map<string, Informer>();
    const cache = <T extends KubeObject>(resource: string, labels: string[] = [], indexes: Parameters<typeof replica.informer<T>>[2] = {}): Informer<T> => {
      const informer = replica.informer<T>(resource, labels, indexes);
      all.set(resource, informer as unknown as Informer);
      return informer;
    };
    const namespace = ({ metadata }: KubeObject): string | undefined => metadata.namespace;
    const orphansIn = (object: KubeObject): string | undefined => (controllerOf(object) === undefined ? object.metadata.namespace : undefined);
    this.tasks = Object.fromEntries(taskKinds.map((kind) => [kind, cache<AnyTask>(taskResources[kind])])) as Record<TaskKind, Informer<AnyTask>>;
    this.rounds = cache<Round>('rounds.roundsman.io', [taskLabels.uid]);
    this.runners = cache<Runner>('runners.roundsman.io');
    this.runtimes = cache<Runtime>('runtimes.roundsman.io', [], { task: ({ spec }) => spec.task?.uid });
    this.nodes = cache<Node>('nodes');
    this.events = cache('events');
    this.pods = cache<Pod>('pods', [], { namespace, orphansIn, node: ({ spec }) => spec.nodeName });
    this.deployments = cache<Deployment>('deployments.apps', [], { namespace });
    this.replicaSets = cache<ReplicaSet>('replicasets.apps', [], { namespace, orphansIn });
    this.daemonSets = cache<DaemonSet>('daemonsets.apps', [], { namespace });
    this.statefulSets = cache<StatefulSet>('statefulsets.apps', [], { namespace });
    this.controllerRevisions = cache<ControllerRevision & KubeObject>('controllerrevisions.apps', [], { namespace, orphansIn });
    this.jobs = cache<Job>('jobs.batch', [], { namespace, orphansIn });
    this.cronJobs = cache<CronJob>('cronjobs.batch', [], { namespace });
    this.disruptionBudgets = cache<PodDisruptionBudget>('poddisruptionbudgets.policy', [], { namespace });
    this.autoscalers = cache<HorizontalPodAutoscaler>('horizontalpodautoscalers.autoscaling', [], { namespace });
    this.services = cache<Service>('services', [], { namespace });
    this.endpoints = cache<Endpoints & KubeObject>('endpoints');
    this.endpointSlices = cache<EndpointSlice & KubeObject>('endpointslices.discovery.k8s.io', [], { service: serviceKeyOf });
    this.ingresses = cache<Ingress>('ingresses.networking.k8s.io', [], { namespace });
    this.ingressClasses = cache<IngressClass>('ingressclasses.networking.k8s.io');
    this.dnses = cache<Dns>('dnses.roundsman.io', [], { namespace });
    this.configMaps = cache('configmaps');
    this.secrets = cache('secrets');
    this.persistentVolumes = cache<PersistentVolume>('persistentvolumes');
    this.claims = cache<PersistentVolumeClaim>('persistentvolumeclaims', [], { namespace });
    this.storageClasses = cache<StorageClass & KubeObject>('storageclasses.storage.k8s.io');
    this.namespaces = cache('namespaces');
    this.serviceAccounts = cache('serviceaccounts');
    this.leases = cache<Lease>('leases.coordination.k8s.io');
    for (const kind of storedKinds) if (!all.has(resourceKey(kind))) cache(resourceKey(kind));
    this.all = all;
  }

  roundsOf(taskUid: string): Round[] {
    return this.rounds.byLabel(taskLabels.uid, taskUid);
  }

  taskByUid(uid: string): AnyTask | undefined {
    for (const kind of taskKinds) {
      const task = this.tasks[kind].byUid(uid);
      if (task !== undefined) return task;
    }
    return undefined;
  }

  /** Read from the store itself, for decisions that may not rest on a cache that is behind. */
  stored(resource: string, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    return this.#store.get(resource, namespace, name);
  }
}
