import { isOpenRound, roundAnnotations, taskAnnotations, type Round } from '@roundsman/api';
import { messages, ServiceError, serviceUser, type Bus } from '@roundsman/bus';
import type { Outcome } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import { Arrivals } from './arrivals.ts';
import { parseTaskKey, type Caches, type Task } from './caches.ts';
import { carrierOf, type Carrier } from './carrier.ts';
import { dnsServersOf } from './dns-servers.ts';
import { planTask, type PlannedRound, type PlanSettings } from './plan.ts';
import { cancelAsked, roundObject } from './round-object.ts';
import { cancelRound } from './cancel.ts';

/** An intake that died took the request with it; a round should not be late because of that. */
const writeTimeoutMs = 3_000;

export interface PlannerOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly settings: PlanSettings;
  /** Whose runners carry the tasks that have no runtime of their own. */
  readonly runtime: string;
  readonly log: Logger;
  readonly onRound?: (trigger: PlannedRound['trigger'], lateSeconds: number) => void;
}

/** Makes a task's rounds when they are due, and ends the open one when that is asked for. */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #arrivals: Arrivals;
  /** Tasks that wait for their runtime or a runner; woken when one of these changes. */
  readonly #waiting = new Set<string>();
  /** By key of the task. */
  readonly #runNowSince = new Map<string, { uid: string; value: string; atMs: number }>();

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#arrivals = new Arrivals(options.settings.heartbeatWaitMs);
  }

  /** Keys of tasks that cannot go on without their runtime or a runner. */
  waiting(): string[] {
    return [...this.#waiting];
  }

  /** Runners that their runtime does not have any more: nobody waits for them. */
  forget(runners: Iterable<string>): void {
    this.#arrivals.forget(runners);
  }

  readonly reconcile = async (key: string): Promise<Outcome | void> => {
    const { caches, settings, runtime, log } = this.#options;
    const { kind, namespace, name } = parseTaskKey(key);
    const task = caches.tasks.get(kind)?.get(namespace, name);
    this.#waiting.delete(key);
    if (task === undefined) {
      this.#runNowSince.delete(key);
      return undefined;
    }
    const { uid, deletionTimestamp } = task.metadata;
    const rounds = caches.roundsOf(uid);
    await this.#cancelIfAsked(task, rounds);
    // It stays until its round is closed and what was made for it is removed; nothing new begins.
    if (deletionTimestamp !== undefined) return undefined;

    const nowMs = Date.now();
    const carrier = carrierOf(task, caches, runtime);
    const servers = dnsServersOf(task);
    const plan = planTask(
      task,
      rounds,
      {
        nowMs,
        openRound: rounds.some(isOpenRound),
        fromMs: servers.state === 'unknown' ? undefined : carrier?.fromMs,
        ready: servers.state === 'known' && (carrier?.runners ?? []).some(({ notReady }) => notReady === undefined),
        waitedFor: carrier?.waitedFor,
        comingUntilMs: this.#arrivals.waitUntil(carrier?.runners ?? [], nowMs),
        changedMs: caches.changedMs(uid),
        runNowSinceMs: this.#runNowSinceMs(key, task, nowMs),
      },
      settings,
    );
    if (plan.do === 'wait') {
      if (plan.why === 'invalid-schedule') log.warn({ task: `${kind} ${namespace}/${name}` }, 'its schedule cannot work: no round is made until it is corrected');
      if (plan.why === 'no-runner' || plan.why === 'no-runtime') this.#waiting.add(key);
      return plan.untilMs === undefined ? undefined : { againAfterMs: plan.untilMs - nowMs };
    }
    if (carrier === undefined) throw new Error(`a round of ${kind} ${namespace}/${name} was planned without a runtime`);
    await this.#create(task, plan.round, carrier);
    return { againAfterMs: 0 };
  };

  async #cancelIfAsked(task: Task, rounds: readonly Round[]): Promise<void> {
    const asked = cancelAsked(task);
    const deleted = task.metadata.deletionTimestamp !== undefined;
    if (asked === '' && !deleted) return;
    for (const round of rounds) {
      if (!isOpenRound(round) || round.spec.cancel === true) continue;
      if (deleted) await cancelRound(this.#options, round, 'the task is being deleted');
      else if (round.metadata.annotations?.[roundAnnotations.cancel] !== asked) await cancelRound(this.#options, round, 'the task asks for it');
    }
  }

  async #create(task: Task, planned: PlannedRound, carrier: Carrier): Promise<void> {
    const { bus, caches, log, onRound } = this.#options;
    const object = roundObject(task, planned, carrier);
    const { name, namespace } = object.metadata;
    const resource = caches.rounds.resource;
    let stored: Round;
    try {
      const reply = await bus.request(messages.write, {}, { operation: 'create', resource, namespace: namespace as string, name: name as string, object: object as unknown as Record<string, unknown>, user: serviceUser('scheduler') }, { timeoutMs: writeTimeoutMs });
      stored = reply.object as unknown as Round;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 409)) throw error;
      // Made already, the cache has not heard of it: perhaps an answer was lost.
      const existing = await caches.reader.get(resource, namespace, name as string);
      if (existing === undefined) throw error;
      stored = existing as Round;
    }
    caches.rounds.observe(stored);
    const lateMs = Date.now() - planned.startMs;
    onRound?.(planned.trigger, Math.max(0, lateMs) / 1000);
    log.info({ task: `${task.kind} ${namespace}/${task.metadata.name}`, round: planned.number, trigger: planned.trigger, start: object.spec.startTime, lateMs, skipped: planned.skipped }, 'round made');
  }

  /** Since when the present run-now value has been known here. */
  #runNowSinceMs(key: string, task: Task, nowMs: number): number | undefined {
    const value = task.metadata.annotations?.[taskAnnotations.runNow];
    const { uid } = task.metadata;
    if (value === undefined || value === '') {
      this.#runNowSince.delete(key);
      return undefined;
    }
    const known = this.#runNowSince.get(key);
    if (known?.value === value && known.uid === uid) return known.atMs;
    this.#runNowSince.set(key, { uid, value, atMs: nowMs });
    return nowMs;
  }
}
