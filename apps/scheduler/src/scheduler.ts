import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Subscription } from '@roundsman/bus';
import { Replica } from '@roundsman/reconcile';
import type { ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore } from '@roundsman/store';
import { Gauge } from 'prom-client';
import { PodCaches } from './pods/caches.ts';
import { leadPods } from './pods/lead.ts';
import { PodMetrics } from './pods/metrics.ts';
import { Caches } from './rounds/caches.ts';
import { leadRounds } from './rounds/lead.ts';
import { materialsEndpoint } from './rounds/materials.ts';
import { RoundMetrics } from './rounds/metrics.ts';
import type { Settings } from './settings.ts';

/** Due rounds to runners, pods to nodes. Every instance keeps the caches and serves materials; only the leader decides. */
export class Scheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<Settings>;
  readonly #replica: Replica;
  readonly #rounds: Caches;
  readonly #roundMetrics: RoundMetrics;
  readonly #pods: PodCaches;
  readonly #podMetrics: PodMetrics;
  #served: Subscription | undefined;

  constructor(context: ServiceContext<Settings>) {
    const { bus, log, databaseUrl, metrics, health } = context;
    if (databaseUrl === undefined) throw new Error('the scheduler needs a database');
    this.#context = context;
    const store = openStore(databaseUrl, { name: 'scheduler', onProblem: (problem) => log.warn({ err: problem }, 'an idle database connection broke') });
    const replica = new Replica({
      name: 'scheduler/caches',
      bus,
      source: store,
      acquire: (signal) => acquireLeadership(databaseUrl, 'scheduler', signal, { onProblem: (problem) => log.warn({ err: problem }, 'cannot ask for the scheduler lock') }),
      begin: (onEnd, over) => this.#lead(onEnd, over),
      health,
      log,
    });
    this.#replica = replica;
    this.#rounds = new Caches(store, replica);
    this.#roundMetrics = new RoundMetrics(metrics);
    this.#pods = new PodCaches(store, replica);
    this.#podMetrics = new PodMetrics(metrics);
    void new Gauge({
      name: 'roundsman_scheduler_leading',
      help: '1 while this instance leads',
      registers: [metrics],
      collect() {
        this.set(replica.leading ? 1 : 0);
      },
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.#replica.start();
    this.#served = await this.#context.bus.serve({ name: 'scheduler', version: '0.1.0', description: 'Due rounds to runners, pods to nodes' }, [materialsEndpoint(this.#rounds)]);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#served?.stop();
    await this.#replica.stop();
  }

  async #lead(onEnd: (end: () => unknown) => void, over: AbortSignal): Promise<void> {
    const { bus, config: settings, log } = this.#context;
    await leadRounds({ bus, caches: this.#rounds, settings, metrics: this.#roundMetrics, log }, onEnd, over);
    await leadPods({ bus, caches: this.#pods, replica: this.#replica, metrics: this.#podMetrics, log }, onEnd, over);
  }
}
