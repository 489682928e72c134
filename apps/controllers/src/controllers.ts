import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Subscription } from '@roundsman/bus';
import { openCluster, type Cluster } from '@roundsman/cluster';
import { Controller, EventRecorder, Replica } from '@roundsman/reconcile';
import type { ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore, type Store } from '@roundsman/store';
import { autoscalers } from './autoscaling/autoscaler-controller.ts';
import { Caches } from './caches.ts';
import { disruptionBudgets } from './disruption/disruption-budgets.ts';
import { oldEvents } from './events/old-events.ts';
import { expectably } from './expected-errors.ts';
import { garbageCollector } from './garbage/garbage-collector.ts';
import { podGarbage } from './garbage/pod-garbage.ts';
import { dnses } from './ingress/dnses.ts';
import { ingresses } from './ingress/ingresses.ts';
import type { Deps, LoopDefinition } from './loop.ts';
import { ControllersMetrics } from './metrics.ts';
import { defaultAccounts } from './namespaces/default-accounts.ts';
import { loadBalancers } from './network/load-balancer/load-balancers.ts';
import { podCidrs } from './network/pod-cidrs.ts';
import { lostPods } from './nodes/lost-pods.ts';
import { nodeLeases } from './nodes/node-leases.ts';
import { nodeLifecycle } from './nodes/node-lifecycle.ts';
import { nodeTaints } from './nodes/node-taints.ts';
import { taintEviction } from './nodes/taint-eviction.ts';
import { Objects, user } from './objects.ts';
import { answerRunnerLogins } from './runner-login/runner-logins.ts';
import { endpoints } from './services/endpoints/endpoints-controller.ts';
import { mirroredEndpoints } from './services/mirrored-endpoints.ts';
import { endpointSlices } from './services/slices/slices-controller.ts';
import { systemEndpoints } from './services/system-endpoints.ts';
import { defaultRuntime } from './runtimes/lifetime/default-runtime.ts';
import { taskRuntimes } from './runtimes/lifetime/task-runtimes.ts';
import { runtimes } from './runtimes/upkeep/runtimes.ts';
import type { Settings } from './settings.ts';
import { claimBinder } from './storage/claim-binder.ts';
import { claimProtection } from './storage/claim-protection.ts';
import { ephemeralClaims } from './storage/ephemeral-claims.ts';
import { volumeKeeper } from './storage/volume-keeper.ts';
import { oldRounds } from './tasks/old-rounds.ts';
import { runnerRegistry } from './tasks/runner-registry.ts';
import { taskStatus } from './tasks/task-controller.ts';
import { cronJobs } from './workloads/cronjob/cronjob-controller.ts';
import { daemonSets } from './workloads/daemonset/daemonset-controller.ts';
import { deployments } from './workloads/deployment/deployment-controller.ts';
import { expiredJobs } from './workloads/job/expired-jobs.ts';
import { jobs } from './workloads/job/job-controller.ts';
import { orphanedJobPods } from './workloads/job/orphaned-pods.ts';
import { replicaSets } from './workloads/replicaset/replicaset-controller.ts';
import { statefulSets } from './workloads/statefulset/statefulset-controller.ts';

/** Every loop of the cluster: a new controller is its folder and one line here. */
const loops: readonly ((deps: Deps) => LoopDefinition)[] = [
  runnerRegistry,
  taskStatus,
  defaultRuntime,
  taskRuntimes,
  runtimes,
  oldRounds,
  nodeLifecycle,
  nodeTaints,
  nodeLeases,
  lostPods,
  taintEviction,
  defaultAccounts,
  garbageCollector,
  podGarbage,
  disruptionBudgets,
  oldEvents,
  replicaSets,
  deployments,
  daemonSets,
  statefulSets,
  jobs,
  orphanedJobPods,
  expiredJobs,
  cronJobs,
  claimBinder,
  volumeKeeper,
  claimProtection,
  ephemeralClaims,
  autoscalers,
  podCidrs,
  endpointSlices,
  endpoints,
  mirroredEndpoints,
  systemEndpoints,
  loadBalancers,
  ingresses,
  dnses,
];

const clusterCheck = 'controllers/cluster';

/** All reconcile loops. Every instance keeps the caches; only the leader writes. Nothing that matters is only in memory. */
export class Controllers implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<Settings>;
  readonly #store: Store;
  readonly #replica: Replica;
  readonly #caches: Caches;
  readonly #metrics: ControllersMetrics;
  readonly #cluster: Cluster | undefined;
  #logins: Subscription | undefined;

  constructor(context: ServiceContext<Settings>, open: typeof openCluster = openCluster) {
    const { bus, config, log, databaseUrl, metrics, health } = context;
    if (databaseUrl === undefined) throw new Error('the controllers need a database');
    this.#context = context;
    const store = (this.#store = openStore(databaseUrl, { name: 'controllers', onProblem: (problem) => log.warn({ err: problem }, 'an idle database connection broke') }));
    this.#replica = new Replica({
      name: 'controllers/caches',
      bus,
      source: store,
      acquire: (signal) => acquireLeadership(databaseUrl, 'controllers', signal, { onProblem: (problem) => log.warn({ err: problem }, 'cannot ask for the lock of the controllers') }),
      begin: (onEnd, over) => this.#lead(onEnd, over),
      health,
      log,
    });
    this.#caches = new Caches(store, this.#replica);
    this.#cluster = config.kubeconfig === '' ? undefined : open({ kubeconfig: config.kubeconfig, userAgent: 'roundsman-controllers', log });
    this.#metrics = new ControllersMetrics(metrics, { leading: () => this.#replica.leading });
  }

  async onApplicationBootstrap(): Promise<void> {
    const { bus, config, health, log } = this.#context;
    const cluster = this.#cluster;
    if (cluster !== undefined) health.add({ name: clusterCheck, problem: () => cluster.problem() });
    await this.#replica.start();
    if (config.runnerIssuerSeedFile !== '') this.#logins = await answerRunnerLogins(bus, config.runnerIssuerSeedFile, this.#caches.runtimes, log);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#logins?.stop();
    await this.#replica.stop();
    this.#cluster?.close();
    this.#context.health.remove(clusterCheck);
  }

  async #lead(onEnd: (end: () => unknown) => void, over: AbortSignal): Promise<void> {
    const { bus, config: settings, log } = this.#context;
    const caches = this.#caches;
    // What the leader before wrote last must be seen before anything is made or deleted.
    await this.#replica.reached(await this.#store.head(), over);
    const objects = new Objects(bus);
    const recorder = new EventRecorder({ bus, user, read: (resource, namespace, name) => caches.stored(resource, namespace, name), log });
    // Events that were told before the end are still written.
    onEnd(() => recorder.flushed());
    const deps: Deps = { caches, objects, recorder, bus, cluster: this.#cluster, settings, log };
    const all: Controller[] = [];
    // Nothing works before all of it is in place: a beginning that fails half-way is undone, and another instance may lead.
    onEnd(() => Promise.all(all.map((controller) => controller.stop())));
    for (const make of loops) {
      const { wakes, reconcile, ...definition } = make(deps);
      const { name } = definition;
      const controller = new Controller({ concurrency: 4, ...definition, reconcile: expectably(reconcile), log, backOff: { baseMs: 50, maxMs: 5_000 }, onLook: (seconds, ok) => this.#metrics.look(name, seconds, ok) });
      all.push(controller);
      for (const listen of wakes) onEnd(await listen((key) => controller.wake(key)));
    }
    // Called before all others: from now on the next leader decides.
    onEnd(() => {
      objects.end();
      recorder.end();
    });
    over.throwIfAborted();
    for (const controller of all) controller.start();
    this.#metrics.follow(() => ({
      depth: all.reduce((sum, { depth }) => sum + depth, 0),
      failing: all.reduce((sum, { failing }) => sum + failing, 0),
      runners: caches.runners.size,
      readyRunners: caches.runners.list().filter(({ status }) => status?.ready === true).length,
    }));
  }
}
