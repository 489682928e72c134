import { isOpenRound } from '@roundsman/api';
import type { Bus } from '@roundsman/bus';
import { ensureRunnerConsumer, pendingWork, purgeWork, removeRunnerConsumer, runnersWithConsumer, sweepDeadLetters } from '@roundsman/bus';
import type { Outcome } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { Caches } from './caches.ts';

/** Consumers are checked again so often: the stream may have been made anew. */
const ensureAgainMs = 30_000;

/** Keeps one consumer per runner on the work stream (runners may not make their own) and the stream free of leftovers. */
export class WorkStream {
  readonly #bus: Bus;
  readonly #caches: Caches;
  readonly #log: Logger;
  /** Consumers seen without a runner object, once; removed when seen again. */
  #orphans = new Set<string>();

  constructor({ bus, caches, log }: { bus: Bus; caches: Caches; log: Logger }) {
    this.#bus = bus;
    this.#caches = caches;
    this.#log = log;
  }

  /** The key is a runner's name. Its object goes when it has been silent for long. */
  readonly reconcile = async (runner: string): Promise<Outcome | void> => {
    if (this.#caches.runners.get(undefined, runner) !== undefined) {
      await ensureRunnerConsumer(this.#bus, runner);
      return { againAfterMs: ensureAgainMs };
    }
    await removeRunnerConsumer(this.#bus, runner);
    this.#log.info({ runner }, 'work consumer of a gone runner removed');
    return undefined;
  };

  /** Removes work of rounds that are not open any more, consumers of runners gone since the sweep before, and messages given up on. */
  async sweep(): Promise<void> {
    const stale = new Map<string, { kind: string; taskUid: string; round: number }>();
    for (const { kind = '', taskUid = '', round = '' } of await pendingWork(this.#bus)) {
      const number = Number(round);
      const open = this.#caches.roundsOf(taskUid).some((one) => one.spec.number === number && isOpenRound(one) && one.spec.cancel !== true);
      if (!open) stale.set(`${taskUid}/${round}`, { kind, taskUid, round: number });
    }
    for (const work of stale.values()) await purgeWork(this.#bus, work);
    if (stale.size > 0) this.#log.info({ rounds: stale.size }, 'work of closed rounds removed');

    const orphans = new Set((await runnersWithConsumer(this.#bus)).filter((runner) => this.#caches.runners.get(undefined, runner) === undefined));
    for (const runner of orphans) if (this.#orphans.has(runner)) await this.reconcile(runner);
    this.#orphans = orphans;
    await sweepDeadLetters(this.#bus);
  }
}
