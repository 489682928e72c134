import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Round, Runtime } from '@roundsman/api';
import { endpoint, messages, type Subscription } from '@roundsman/bus';
import { ChangeFeed, Controller, Informer, LeaderGate, type LeaderWork } from '@roundsman/reconcile';
import { cancelRow, committedRounds, registerRound, reportPool, type ReportPool } from '@roundsman/reports';
import type { ServiceContext } from '@roundsman/service';
import { acquireLeadership, openStore, type Store } from '@roundsman/store';
import { Arrivals } from './arrivals.ts';
import { Beats } from './beats.ts';
import { Closer } from './closer.ts';
import { Ingester } from './ingester.ts';
import { Maintainer } from './maintainer.ts';
import { ReporterMetrics } from './metrics.ts';
import { recall } from './recall.ts';
import type { Settings } from './settings.ts';
import { Teller } from './teller.ts';

const keyOf = ({ metadata }: Round): string => `${metadata.namespace ?? ''}/${metadata.name}`;
const dayMs = 86_400_000;
/** Is it the reporter's turn with this round? */
const isOpen = (round: Round): boolean => (round.status?.state ?? 'ongoing') === 'ongoing';

/** Results to reports. Every instance takes results in; only the leader registers and closes rounds and tells of them. */
export class Reporter implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #context: ServiceContext<Settings>;
  readonly #pool: ReportPool;
  /** For what may take long: giant closes, roll-ups, partitions. */
  readonly #slowPool: ReportPool;
  readonly #store: Store;
  readonly #feed: ChangeFeed;
  readonly #rounds: Informer<Round>;
  readonly #runtimesFeed: ChangeFeed;
  /** For how runners ended. */
  readonly #runtimes: Informer<Runtime>;
  readonly #beats = new Beats();
  readonly #ingester: Ingester;
  readonly #gate: LeaderGate;
  readonly #metrics: ReporterMetrics;
  #arrivals: Arrivals | undefined;
  #closer: Closer | undefined;
  #teller: Teller | undefined;
  #served: Subscription | undefined;
  #started: Promise<void> | undefined;

  constructor(context: ServiceContext<Settings>) {
    const { bus, log, databaseUrl, metrics, config } = context;
    if (databaseUrl === undefined) throw new Error('the reporter needs a database');
    this.#context = context;
    const onError = (error: Error): void => log.warn({ err: error }, 'an idle database connection broke');
    this.#pool = reportPool(databaseUrl, { name: 'roundsman reporter', connections: 8, onError });
    this.#slowPool = reportPool(databaseUrl, { name: 'roundsman reporter slow', connections: 5, statementMs: 60_000, onError });
    this.#store = openStore(databaseUrl, { name: 'reporter', onProblem: onError });
    this.#feed = new ChangeFeed({ bus, source: this.#store, resource: 'rounds.roundsman.io', log });
    this.#rounds = new Informer<Round>({ source: this.#store, feed: this.#feed, resource: 'rounds.roundsman.io', log });
    this.#runtimesFeed = new ChangeFeed({ bus, source: this.#store, resource: 'runtimes.roundsman.io', log });
    this.#runtimes = new Informer<Runtime>({ source: this.#store, feed: this.#runtimesFeed, resource: 'runtimes.roundsman.io', log });
    this.#metrics = new ReporterMetrics(metrics, { leading: () => this.#gate.leading, open: () => this.#closer?.open ?? 0, untold: () => this.#teller?.untold ?? 0 });
    this.#ingester = new Ingester({
      bus,
      pool: this.#pool,
      settings: config,
      metrics: this.#metrics,
      log,
      onCompleted: () => this.#closer?.kick(),
      onOutage: () => this.#arrivals?.outage(),
    });
    this.#gate = new LeaderGate({
      acquire: (signal) => acquireLeadership(databaseUrl, 'reporter', signal, { onProblem: (problem) => log.warn({ err: problem }, 'cannot ask for the reporter lock') }),
      begin: () => this.#lead(),
      log,
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    const { bus, config, health } = this.#context;
    health.add({ name: 'reporter/results', problem: () => this.#ingester.problem() });
    health.add({ name: 'reporter/rounds', problem: () => this.#feed.problem() ?? this.#rounds.problem() ?? this.#runtimesFeed.problem() ?? this.#runtimes.problem() });
    await this.#feed.start();
    await this.#runtimesFeed.start();
    await this.#beats.start(bus);
    await this.#ingester.start();
    this.#served = await bus.serve({ name: 'reporter', version: '0.1.0', description: 'Results to reports' }, [
      endpoint(messages.committed, async ({ rounds }, params) => ({ committed: await committedRounds(this.#pool, params['runner'] ?? '', rounds, config.retentionDays * dayMs) })),
    ]);
    // Not awaited: the database may still be coming up, and readiness says so.
    this.#started = Promise.all([this.#rounds.start(), this.#runtimes.start()]).then(() => this.#gate.start());
  }

  async onApplicationShutdown(): Promise<void> {
    const { health } = this.#context;
    health.remove('reporter/results');
    health.remove('reporter/rounds');
    await this.#served?.stop();
    await this.#ingester.stop();
    await Promise.all([this.#rounds.stop(), this.#runtimes.stop()]);
    await this.#started;
    await this.#gate.stop();
    await this.#beats.stop();
    await Promise.all([this.#feed.stop(), this.#runtimesFeed.stop()]);
    await this.#store.close();
    await Promise.all([this.#pool.end(), this.#slowPool.end()]);
  }

  async #lead(): Promise<LeaderWork> {
    const { bus, config, log } = this.#context;
    const pool = this.#pool;
    const rounds = this.#rounds;
    const teller = (this.#teller = new Teller({ pool, bus, rounds, metrics: this.#metrics, log }));
    const arrivals = (this.#arrivals = new Arrivals({ bus, log }));
    const closer = (this.#closer = new Closer({
      pool, slowPool: this.#slowPool, rounds,
      recall: (round) => recall(this.#store, round),
      runtimes: this.#runtimes, beats: this.#beats, arrivals, cancelGraceMs: config.cancelGraceMs, metrics: this.#metrics, log,
      onClosed: () => teller.kick(),
    }));
    const maintainer = new Maintainer({ pool: this.#slowPool, settings: config, metrics: this.#metrics, log, also: () => this.#beats.prune() });
    const registrar = new Controller({
      name: 'rounds',
      keys: () => rounds.list().filter(isOpen).map(keyOf),
      concurrency: 4,
      backOff: { baseMs: 50, maxMs: 5_000 },
      log,
      reconcile: async (key) => {
        const slash = key.indexOf('/');
        const round = rounds.get(key.slice(0, slash), key.slice(slash + 1));
        if (round === undefined || !isOpen(round)) return;
        // Closed, and its object does not know (its number was given again, perhaps): it is told.
        if ((await registerRound(pool, round)) === 'closed') teller.kick();
        else closer.kick();
      },
    });
    const off = rounds.onChange(({ type, object }) => {
      if (type !== 'DELETED') {
        if (isOpen(object)) registrar.wake(keyOf(object));
        return;
      }
      // Its task was deleted, most likely: what was measured is kept.
      if (isOpen(object)) {
        cancelRow(pool, object.spec.taskRef.uid, object.spec.number).then(
          () => closer.kick(),
          (error: unknown) => log.warn({ err: error, round: keyOf(object) }, 'deleted round not marked as canceled; the closer will see it'),
        );
      }
    });
    registrar.start();
    closer.kick();
    teller.kick();
    maintainer.start();
    return {
      stop: async () => {
        off();
        arrivals.stop();
        await Promise.all([registrar.stop(), closer.stop(), teller.stop(), maintainer.stop()]);
        this.#arrivals = undefined;
        this.#closer = undefined;
        this.#teller = undefined;
      },
    };
  }
}
