import type { Round, Runtime } from '@roundsman/api';
import type { Informer } from '@roundsman/reconcile';
import { cancelRow, closeRound, discardRound, openRounds, pendingRunners, registerRound, type ClosedRound, type OpenRound, type ReportPool } from '@roundsman/reports';
import type { Logger } from 'pino';
import type { Arrivals } from './arrivals.ts';
import type { Beats } from './beats.ts';
import { allEnds, containerEndsSince } from './runner-ends.ts';
import { Lookout, type Next } from './lookout.ts';
import type { ReporterMetrics } from './metrics.ts';
import { patienceMs } from './patience.ts';
import type { Recollection } from './recall.ts';

/** Milliseconds between two looks while rounds are open: other instances complete rounds too. */
const pollMs = 250;
const idleMs = 2_000;
/** Rounds closed at the same time. */
const concurrency = 3;
/** How long results of a round that nobody has been given so far, or rounds whose object is gone, are left open. */
const orphanMs = 10_000;

const keyOf = ({ taskUid, round }: OpenRound): string => `${taskUid}/${round}`;

/** Closes rounds when all have reported, at the deadline, and some time after a cancel. Only one instance does it. */
export class Closer {
  readonly #lookout = new Lookout(() => this.#look());
  #open = 0;

  constructor(
    private readonly options: {
      pool: ReportPool;
      /** For the closes themselves: a giant one takes its time. */
      slowPool: ReportPool;
      rounds: Informer<Round>;
      /** What is still known of a round that has no Round object. */
      recall: (round: OpenRound) => Promise<Recollection>;
      runtimes: Pick<Informer<Runtime>, 'list'>;
      beats: Beats;
      arrivals: Arrivals;
      cancelGraceMs: number;
      metrics: ReporterMetrics;
      log: Logger;
      onClosed: (round: ClosedRound) => void;
    },
  ) {}

  get open(): number {
    return this.#open;
  }

  /** Something may have become closable. */
  kick(): void {
    this.#lookout.kick();
  }

  stop(): Promise<void> {
    return this.#lookout.stop();
  }

  /** Closes what can be closed; answers when to look again. */
  async #look(): Promise<Next> {
    const { pool, arrivals, log } = this.options;
    const began = performance.now();
    try {
      const open = await openRounds(pool);
      this.#open = open.length;
      arrivals.lookAgain();
      let next = open.length > 0 ? pollMs : idleMs;
      const rest = open.values();
      // A few at a time: one giant round must not hold up the deadlines of the others.
      const worker = async (): Promise<void> => {
        for (const round of rest) {
          if (this.#lookout.stopped) return;
          const cause = await this.#cause(round);
          if (cause !== undefined) await this.#close(round, cause);
          else if (round.leftMs !== undefined && round.leftMs > 0) next = Math.min(next, round.leftMs + 5);
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
      // With very many open rounds the looking itself must not become the load.
      return { afterMs: Math.max(next, (performance.now() - began) * 3, 10) };
    } catch (error) {
      arrivals.outage();
      log.warn({ err: error }, 'cannot close rounds; trying again');
      return { afterMs: 1_000 };
    }
  }

  async #cause(round: OpenRound): Promise<'complete' | 'deadline' | 'canceled' | 'missed' | undefined> {
    const { rounds, arrivals, cancelGraceMs, log } = this.options;
    const { registered, trigger, pending, canceledMs, leftMs, ageMs } = round;
    if (registered && trigger === 'missed') return 'missed';
    if (registered && pending === 0) return 'complete';
    // Results that are on their way in are waited for, within bounds.
    if (canceledMs !== undefined) return canceledMs >= cancelGraceMs && (await arrivals.allIn(keyOf(round))) ? 'canceled' : undefined;
    if (ageMs > orphanMs && rounds.problem() === undefined) {
      const object = rounds.get(round.namespace, round.name);
      if (object === undefined) {
        if (registered || (await this.#isGone(round))) {
          log.info({ round: `${round.namespace}/${round.name}` }, 'the Round object of an open round is gone: it is closed as canceled');
          await cancelRow(this.options.pool, round.taskUid, round.round);
        }
        return undefined;
      }
      // A Postgres that took over may lack what was noted of it, and nobody wakes for a round that its object calls closed.
      if (!registered) await registerRound(this.options.pool, object);
    }
    return leftMs !== undefined && leftMs <= 0 && (await arrivals.allIn(keyOf(round))) && !(await this.#isAwaited(round, -leftMs)) ? 'deadline' : undefined;
  }

  /** Is it worth waiting, so long after the deadline, for runners that are still at work on the round? */
  async #isAwaited(round: OpenRound, lateMs: number): Promise<boolean> {
    const { pool, rounds, beats } = this.options;
    const object = rounds.get(round.namespace, round.name);
    return object !== undefined && lateMs < patienceMs(object) && beats.atWork(round, await pendingRunners(pool, round.taskUid, round.round));
  }

  /**
   * Of a round that only results tell of: is its Round object gone? Notes it as it was, if that is known. Where there has been none, the results are of
   * a round that was given to nobody, and believed they would take the place of those that come when it is made: they are dropped.
   */
  async #isGone(round: OpenRound): Promise<boolean> {
    const { pool, metrics, log } = this.options;
    const recalled = await this.options.recall(round);
    if ('round' in recalled) await registerRound(pool, recalled.round);
    if (recalled.was !== 'never') return recalled.was !== 'there';
    const runners = await discardRound(pool, round.taskUid, round.round);
    if (runners.length === 0) return false;
    metrics.results.inc({ outcome: 'foreign' }, runners.length);
    log.warn({ round: `${round.namespace}/${round.name}`, runners: runners.slice(0, 20), count: runners.length }, 'results of a round that was given to nobody were dropped');
    return false;
  }

  async #close(round: OpenRound, cause: 'complete' | 'deadline' | 'canceled' | 'missed'): Promise<void> {
    const { slowPool, rounds, beats, runtimes, metrics, log } = this.options;
    const { taskUid, round: number } = round;
    try {
      let silent = 0;
      // Noted late, when no reporter was there at its start.
      const sinceMs = Date.now() - Math.max(round.ageMs, round.ranMs);
      const containers = containerEndsSince(runtimes.list(), sinceMs, rounds.get(round.namespace, round.name)?.spec.taskSpec);
      const closed = await closeRound(slowPool, {
        taskUid,
        round: number,
        cause,
        silent: (runner) => {
          silent += 1;
          return beats.explain({ taskUid, round: number, sinceMs }, cause, runner, containers.get(runner.runner));
        },
        ends: cause === 'missed' ? new Map() : allEnds(beats.restartedSince(sinceMs), containers),
      });
      if (closed === undefined) return;
      this.options.arrivals.forget(keyOf(round));
      beats.forget(taskUid, number);
      metrics.closed.inc({ state: closed.state });
      metrics.silent.inc(silent);
      if (closed.foreign.length > 0) {
        metrics.results.inc({ outcome: 'foreign' }, closed.foreign.length);
        log.warn({ round: `${round.namespace}/${round.name}`, runners: closed.foreign.slice(0, 20), count: closed.foreign.length }, 'results of runners that the round was not given to were dropped');
      }
      if (cause === 'deadline') metrics.closeLate.observe(Math.max(0, -(round.leftMs ?? 0)) / 1000);
      log.info({ round: `${round.namespace}/${round.name}`, state: closed.state, verdict: closed.verdict.state, silent, summary: closed.verdict.summary }, 'round closed');
      this.options.onClosed(closed);
    } catch (error) {
      // One bad round must not keep the others open.
      log.error({ err: error, round: `${round.namespace}/${round.name}`, cause }, 'round not closed; trying again');
    }
  }
}
