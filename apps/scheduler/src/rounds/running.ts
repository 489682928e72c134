import { isOpenRound } from '@roundsman/api';
import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { Caches } from './caches.ts';
import { whyCanceled } from './cancel.ts';

export interface RunningOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly log: Logger;
  /** A heartbeat older than this says nothing about now. */
  readonly freshMs?: number;
  /** How long a round may be listed by a runner and unknown here before the runner is told to stop it. */
  readonly unknownMs?: number;
}

/**
 * What runners say in their heartbeats that they are running. A round that is closed, canceled, or of a deleted task must not
 * go on: whoever lists one is told to stop it, again with every heartbeat, so no cancel can be lost.
 */
export class Running {
  readonly #options: RunningOptions;
  readonly #beats = new Map<string, { atMs: number; rounds: Set<string> }>();
  readonly #unknownSince = new Map<string, number>();
  #subscription: Subscription | undefined;

  constructor(options: RunningOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe(messages.runnerBeat, {}, ({ payload }) => {
      const rounds = new Set(payload.running.map(({ taskUid, round }) => `${taskUid}/${round}`));
      this.#beats.set(payload.runner, { atMs: Date.now(), rounds });
      for (const { taskUid, round } of payload.running) this.#check(payload.runner, payload.node, taskUid, round);
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.stop();
  }

  /** Whether the runner says right now that it runs this round. */
  runs(runner: string, taskUid: string, round: number): boolean {
    const beat = this.#beats.get(runner);
    return beat !== undefined && Date.now() - beat.atMs < (this.#options.freshMs ?? 3_000) && beat.rounds.has(`${taskUid}/${round}`);
  }

  #check(runner: string, node: string, taskUid: string, number: number): void {
    const { bus, caches, log, unknownMs } = this.#options;
    const key = `${runner}/${taskUid}/${number}`;
    const round = caches.roundsOf(taskUid).find(({ spec }) => spec.number === number);
    if (round !== undefined && isOpenRound(round) && round.spec.cancel !== true) {
      this.#unknownSince.delete(key);
      return;
    }
    let reason = round === undefined ? 'its task was deleted' : whyCanceled(caches, round);
    if (round === undefined) {
      // This cache may be behind; wait a little before believing that there is no such round.
      const since = this.#unknownSince.get(key) ?? Date.now();
      this.#unknownSince.set(key, since);
      if (this.#unknownSince.size > 10_000) this.#unknownSince.clear();
      if (caches.problem() !== undefined || Date.now() - since < (unknownMs ?? 3_000)) return;
    } else if (!isOpenRound(round)) reason = 'the round is closed';
    log.info({ runner, node, taskUid, round: number, reason }, 'telling a runner to stop a round');
    bus.publish(messages.nodeCancel, { node }, { taskUid, round: number, reason });
  }
}
