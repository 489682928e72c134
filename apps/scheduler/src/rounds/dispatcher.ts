import { isOpenRound, type Round, type RoundSpec } from '@roundsman/api';
import { messages, purgeWork, type Bus } from '@roundsman/bus';
import type { Outcome } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import { roundKey, type Caches } from './caches.ts';
import { cancelRound, whyCanceled } from './cancel.ts';
import { workOrders } from './round-object.ts';
import type { Running } from './running.ts';

export interface DispatcherOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly running: Running;
  readonly log: Logger;
  /** Work of an open round is published again so often, milliseconds: its runner or the stream may have lost it. */
  readonly republishMs: number;
  /** A canceled round's runners are told again so often, until it is closed. */
  readonly cancelAgainMs?: number;
  readonly onSent?: (lateSeconds: number) => void;
}

/** Work orders on their way to the stream at a time: in a mesh of hundreds of nodes each has hundreds of kilobytes. */
const atOnce = 64;

/** Brings the work of open rounds to their runners, and takes it away again. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Rounds whose work may lie in the stream. */
  readonly #sent = new Map<string, RoundSpec>();
  /** Told to every msgId: after a restart or a reconnect the same attempt counts anew. */
  #epoch = Date.now().toString(36);

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** The stream may have been lost: what is published next is no duplicate of what was published before. */
  renew(): void {
    this.#epoch = Date.now().toString(36);
  }

  readonly reconcile = async (key: string): Promise<Outcome | void> => {
    const { caches, republishMs } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const round = caches.rounds.get(namespace, name);
    if (round === undefined || !isOpenRound(round)) return this.#end(key);
    const { spec } = round;
    if (spec.cancel === true) return this.#stopRunners(key, round);
    if (await this.#taskGone(round)) {
      await cancelRound(this.#options, round, 'the task was deleted');
      return { againAfterMs: 0 };
    }
    const nowMs = Date.now();
    const startMs = Date.parse(spec.startTime);
    const deadlineMs = Date.parse(spec.deadline);
    // From the deadline on it is the reporter's business.
    if (nowMs >= deadlineMs) return undefined;
    // Also ahead of its start: the runner waits for that, so the way to it costs nothing.
    await this.#publish(key, spec, startMs, nowMs);
    return { againAfterMs: Math.min(republishMs, deadlineMs - Date.now()) };
  };

  async #publish(key: string, spec: RoundSpec, startMs: number, nowMs: number): Promise<void> {
    const { bus, running, republishMs, onSent, log } = this.#options;
    const first = !this.#sent.has(key);
    this.#sent.set(key, spec);
    const { taskRef, number } = spec;
    const attempt = `${this.#epoch}-${Math.floor(nowMs / republishMs)}`;
    const orderOf = workOrders(spec);
    const needy = spec.runners.filter(({ runner, notReady }) => notReady === undefined && !running.runs(runner, taskRef.uid, number));
    for (let at = 0; at < needy.length; at += atOnce) {
      const sent = await Promise.allSettled(
        needy.slice(at, at + atOnce).map(async (assigned) => {
          const { runner } = assigned;
          await bus.append(messages.work, { runner, kind: taskRef.kind, taskUid: taskRef.uid, round: number }, orderOf(assigned), {
            msgId: `${taskRef.uid}:${number}:${runner}:${attempt}`,
          });
        }),
      );
      for (const outcome of sent) if (outcome.status === 'rejected') throw outcome.reason;
    }
    if (!first) return;
    const lateMs = Date.now() - startMs;
    onSent?.(Math.max(0, lateMs) / 1000);
    log.debug({ round: key, runners: spec.runners.length, lateMs }, 'work sent');
  }

  async #stopRunners(key: string, round: Round): Promise<Outcome> {
    const { bus, caches, cancelAgainMs } = this.#options;
    const { spec } = round;
    const { taskRef, number } = spec;
    const reason = whyCanceled(caches, round);
    await this.#end(key);
    const nodes = new Set(spec.runners.filter(({ notReady }) => notReady === undefined).map(({ node }) => node));
    for (const node of nodes) bus.publish(messages.nodeCancel, { node }, { taskUid: taskRef.uid, round: number, reason });
    return { againAfterMs: cancelAgainMs ?? 2_000 };
  }

  /** Takes back work that no runner has fetched. */
  async #end(key: string): Promise<void> {
    const spec = this.#sent.get(key);
    if (spec === undefined) return;
    await purgeWork(this.#options.bus, { kind: spec.taskRef.kind, taskUid: spec.taskRef.uid, round: spec.number });
    this.#sent.delete(key);
  }

  /** The cache may not have heard of the task yet: ask before ending its round. */
  async #taskGone({ spec }: Round): Promise<boolean> {
    const { caches } = this.#options;
    const { kind, uid, resource, namespace, name } = spec.taskRef;
    if (caches.taskByUid(kind, uid) !== undefined) return false;
    const stored = await caches.reader.get(resource, namespace, name);
    return stored?.metadata.uid !== uid;
  }
}

export const openRoundKeys = (caches: Caches): string[] => caches.rounds.list().filter(isOpenRound).map(roundKey);
