import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ensureStreams, onReconnect, type Subscription } from '@roundsman/bus';
import { Controller, Replica } from '@roundsman/reconcile';
import type { ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore } from '@roundsman/store';
import { Caches, roundKey, taskKey } from './caches.ts';
import { Dispatcher, openRoundKeys } from './dispatcher.ts';
import { materialsEndpoint } from './materials.ts';
import { SchedulerMetrics } from './metrics.ts';
import { Planner } from './planner.ts';
import { Running } from './running.ts';
import type { Settings } from './settings.ts';
import { WorkStream } from './work-stream.ts';

/** Due rounds to runners. Every instance keeps the caches and serves materials; only the leader makes rounds and sends work. */
export class Scheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<Settings>;
  readonly #replica: Replica;
  readonly #caches: Caches;
  readonly #metrics: SchedulerMetrics;
  #served: Subscription | undefined;

  constructor(context: ServiceContext<Settings>) {
    const { bus, log, databaseUrl, metrics, health } = context;
    if (databaseUrl === undefined) throw new Error('the scheduler needs a database');
    this.#context = context;
    const store = openStore(databaseUrl, { name: 'scheduler', onProblem: (problem) => log.warn({ err: problem }, 'an idle database connection broke') });
    this.#replica = new Replica({
      name: 'scheduler/caches',
      bus,
      source: store,
      acquire: (signal) => acquireLeadership(databaseUrl, 'scheduler', signal, { onProblem: (problem) => log.warn({ err: problem }, 'cannot ask for the scheduler lock') }),
      begin: (onEnd) => this.#lead(onEnd),
      health,
      log,
    });
    this.#caches = new Caches(store, this.#replica);
    this.#metrics = new SchedulerMetrics(metrics, { leading: () => this.#replica.leading });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#replica.start();
    this.#served = await this.#context.bus.serve({ name: 'scheduler', version: '0.1.0', description: 'Due rounds to runners' }, [materialsEndpoint(this.#caches)]);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#served?.stop();
    await this.#replica.stop();
  }

  async #lead(onEnd: (end: () => unknown) => void): Promise<void> {
    const { bus, config, log } = this.#context;
    const caches = this.#caches;
    await ensureStreams(bus);
    const running = new Running({ bus, caches, log });
    onEnd(() => running.stop());
    await running.start();
    const planner = new Planner({ bus, caches, log, runtime: config.runtime, settings: config, onRound: (trigger, late) => this.#metrics.round(trigger, late) });
    const dispatcher = new Dispatcher({ bus, caches, running, log, republishMs: config.republishMs, onSent: (late) => this.#metrics.sent(late) });
    const workStream = new WorkStream({ bus, caches, log });

    const loop = (name: string, reconcile: (key: string) => Promise<{ againAfterMs?: number } | void>, keys: () => string[], concurrency: number): Controller =>
      new Controller({ name, reconcile, keys, concurrency, log, backOff: { baseMs: 50, maxMs: 5_000 }, onLook: (seconds, ok) => this.#metrics.look(name, seconds, ok) });
    const taskKeys = (): string[] => [...caches.tasks.values()].flatMap((informer) => informer.list().map(({ kind, metadata }) => taskKey(kind, metadata.namespace, metadata.name)));
    const tasks = loop('tasks', planner.reconcile, taskKeys, 8);
    const rounds = loop('rounds', dispatcher.reconcile, () => openRoundKeys(caches), 16);
    const consumers = loop('consumers', workStream.reconcile, () => caches.runners.list().map(({ metadata }) => metadata.name), 4);
    const sweeps = loop('sweep', async () => (await workStream.sweep(), { againAfterMs: config.sweepMs }), () => ['work'], 1);

    const off = [
      ...[...caches.tasks.values()].map((informer) =>
        informer.onChange(({ type, object: { kind, metadata } }) => {
          tasks.wake(taskKey(kind, metadata.namespace, metadata.name));
          if (type === 'DELETED') for (const round of caches.roundsOf(metadata.uid)) rounds.wake(roundKey(round));
        }),
      ),
      caches.rounds.onChange(({ object }) => {
        const { kind, namespace, name } = object.spec.taskRef;
        tasks.wake(taskKey(kind, namespace, name));
        rounds.wake(roundKey(object));
      }),
      caches.runners.onChange(({ type, object, before }) => {
        if (type !== 'MODIFIED') consumers.wake(object.metadata.name);
        if (object.status?.ready === true && before?.status?.ready !== true) for (const key of planner.waitingForRunner()) tasks.wake(key);
      }),
      onReconnect(bus, () => {
        // The server may have come back with an empty store.
        dispatcher.renew();
        // Whoever failed meanwhile should not wait for the end of its back-off.
        for (const key of taskKeys()) tasks.wake(key);
        for (const { metadata } of caches.runners.list()) consumers.wake(metadata.name);
        for (const key of openRoundKeys(caches)) rounds.wake(key);
      }),
    ];
    const all = [consumers, tasks, rounds, sweeps];
    onEnd(() => Promise.all(all.map((controller) => controller.stop())));
    onEnd(() => off.forEach((end) => end()));
    for (const controller of all) controller.start();
    this.#metrics.follow(() => ({ depth: all.reduce((sum, { depth }) => sum + depth, 0), failing: all.reduce((sum, { failing }) => sum + failing, 0), open: openRoundKeys(caches).length }));
  }
}
