import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Controller, Replica, type Reconcile } from '@roundsman/reconcile';
import type { ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore } from '@roundsman/store';
import { Caches, objectKey, taskKey } from './caches.ts';
import { CleanUp } from './clean-up.ts';
import { ControllersMetrics } from './metrics.ts';
import { NodeLifecycle } from './node-lifecycle.ts';
import { Objects } from './objects.ts';
import { RunnerRegistry } from './runner-registry.ts';
import type { Settings } from './settings.ts';
import { TaskController } from './task-controller.ts';

/** All reconcile loops. Every instance keeps the caches; only the leader writes. Nothing that matters is only in memory. */
export class Controllers implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<Settings>;
  readonly #replica: Replica;
  readonly #caches: Caches;
  readonly #metrics: ControllersMetrics;

  constructor(context: ServiceContext<Settings>) {
    const { bus, log, databaseUrl, metrics, health } = context;
    if (databaseUrl === undefined) throw new Error('the controllers need a database');
    this.#context = context;
    const store = openStore(databaseUrl, { name: 'controllers', onProblem: (problem) => log.warn({ err: problem }, 'an idle database connection broke') });
    this.#replica = new Replica({
      name: 'controllers/caches',
      bus,
      source: store,
      acquire: (signal) => acquireLeadership(databaseUrl, 'controllers', signal, { onProblem: (problem) => log.warn({ err: problem }, 'cannot ask for the lock of the controllers') }),
      begin: (onEnd) => this.#lead(onEnd),
      health,
      log,
    });
    this.#caches = new Caches(store, this.#replica);
    this.#metrics = new ControllersMetrics(metrics, { leading: () => this.#replica.leading });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#replica.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#replica.stop();
  }

  async #lead(onEnd: (end: () => unknown) => void): Promise<void> {
    const { bus, config, log } = this.#context;
    const caches = this.#caches;
    const objects = new Objects(bus);
    const registry = new RunnerRegistry({ bus, caches, objects, lostMs: config.runnerLostMs, removeMs: config.runnerRemoveMs });
    const nodeLifecycle = new NodeLifecycle({ bus, caches, objects, lostMs: config.nodeLostMs });
    const taskController = new TaskController({ caches, objects, runtime: config.runtime, eventTtlMs: config.eventTtlMs });
    const cleanUp = new CleanUp({ caches, objects, roundsKept: config.roundsKept, eventTtlMs: config.eventTtlMs });

    const loop = (name: string, reconcile: Reconcile, keys: () => string[], concurrency: number): Controller =>
      new Controller({ name, reconcile, keys, concurrency, log, backOff: { baseMs: 50, maxMs: 5_000 }, onLook: (seconds, ok) => this.#metrics.look(name, seconds, ok) });
    const tasks = loop('task-status', taskController.reconcile, () => [...caches.tasks.values()].flatMap((informer) => informer.list().map(({ kind, metadata }) => taskKey(kind, metadata.namespace, metadata.name))), 8);
    const runners = loop('runners', registry.reconcile, () => registry.keys(), 8);
    const nodes = loop('nodes', nodeLifecycle.reconcile, () => nodeLifecycle.keys(), 8);
    const oldRounds = loop('old-rounds', cleanUp.rounds, () => [...new Set(caches.rounds.list().map(({ spec }) => spec.taskRef.uid))], 2);
    const oldEvents = loop('old-events', cleanUp.events, () => caches.events.list().map(objectKey), 2);

    // Nothing works before all of it is in place: a beginning that fails half-way is undone, and another instance may lead.
    const all = [runners, nodes, tasks, oldRounds, oldEvents];
    onEnd(() => Promise.all(all.map((controller) => controller.stop())));
    onEnd(() => Promise.all([registry.stop(), nodeLifecycle.stop()]));
    await registry.start((runner) => runners.wake(runner));
    await nodeLifecycle.start((node) => nodes.wake(node));
    const off = [
      ...[...caches.tasks.values()].map((informer) =>
        informer.onChange(({ type, object: { kind, metadata } }) => {
          tasks.wake(taskKey(kind, metadata.namespace, metadata.name));
          if (type !== 'DELETED') return;
          oldRounds.wake(metadata.uid);
          for (const event of caches.events.byOwner(metadata.uid)) oldEvents.wake(objectKey(event));
        }),
      ),
      caches.rounds.onChange(({ object: { spec } }) => {
        tasks.wake(taskKey(spec.taskRef.kind, spec.taskRef.namespace, spec.taskRef.name));
        oldRounds.wake(spec.taskRef.uid);
      }),
      caches.runners.onChange(({ object }) => runners.wake(object.metadata.name)),
      caches.nodes.onChange(({ object }) => nodes.wake(object.metadata.name)),
      caches.events.onChange(({ type, object }) => {
        if (type !== 'DELETED') oldEvents.wake(objectKey(object));
      }),
    ];
    onEnd(() => off.forEach((end) => end()));
    for (const controller of all) controller.start();
    this.#metrics.follow(() => ({
      depth: all.reduce((sum, { depth }) => sum + depth, 0),
      failing: all.reduce((sum, { failing }) => sum + failing, 0),
      runners: caches.runners.size,
      readyRunners: caches.runners.list().filter(({ status }) => status?.ready === true).length,
    }));
  }
}
