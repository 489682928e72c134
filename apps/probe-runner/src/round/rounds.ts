import { setTimeout as sleep } from 'node:timers/promises';
import type { CutCause, LiveSample, TargetResult, WorkOrder } from '@roundsman/api';
import { roundMarginMs } from '@roundsman/api/wire';
import { messages, type Bus, type Delivery } from '@roundsman/bus';
import type { PolicySettings, RoundOutcome, RoundProgress } from '@roundsman/probes';
import { builtFile } from '../built-file.ts';
import { messageOf, type RunnerLog } from '../log.ts';
import type { DoneList } from '../spool/done-list.ts';
import type { Journal } from '../spool/journal.ts';
import type { Sender } from '../spool/sender.ts';
import type { Spool } from '../spool/spool.ts';
import { OverCapacity, type Admission } from './admission.ts';
import { keyOf } from './key.ts';
import { fetchMaterials, NoMaterials, RoundOver } from './materials.ts';
import { brokenOff, partsOf, unmeasured, type Finished } from './result.ts';
import { measureInThread, ThreadFault } from './thread.ts';

/** Starts of one round on this runner before it is given up: whatever ends the runner each time must not do so for ever. */
const mostAttempts = 5;
/** A thread is started so long before its round: it loads and warms up while nothing is due yet. */
const threadLeadMs = 1_000;
const endOf = ({ deadline, roundStart }: WorkOrder): number => Date.parse(deadline) - roundMarginMs(Date.parse(deadline) - Date.parse(roundStart));
/** By whom it cannot know: its pod may be deleted, or the daemon that runs its container be stopped. */
const stoppedReason = 'the runner was told to end (SIGTERM)';

/** Why a round was told to stop; carried by its abort signal. */
type Stop = { readonly why: 'canceled'; readonly reason: string } | { readonly why: 'deadline' } | { readonly why: 'runner' };

interface Entry {
  readonly key: string;
  readonly order: WorkOrder;
  /** Every delivery of the order; all are settled with the round. */
  readonly deliveries: Delivery<WorkOrder>[];
  readonly attempts: number;
  readonly abort: AbortController;
  begun: boolean;
  done: Promise<void>;
}

export interface RoundsOptions {
  readonly bus: Bus;
  readonly log: RunnerLog;
  readonly spool: Spool;
  readonly done: DoneList;
  readonly journal: Journal;
  readonly sender: Sender;
  readonly admission: Admission;
  readonly policy: PolicySettings;
  readonly heapMb: number;
  /** Deliveries after which the stream gives an order up. */
  readonly maxDeliver: number;
  /** What measures; the app's own thread when not given. */
  readonly script?: URL;
}

/** Takes work orders, runs each once, and hands its result to the spool before the order is acked. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #script: URL;
  readonly #entries = new Map<string, Entry>();
  #stopping: 'return' | 'report' | undefined;
  readonly counts = { begun: 0, ended: { ok: 0, failed: 0, canceled: 0, error: 0 }, faults: 0, answeredFromSpool: 0 };

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#script = options.script ?? builtFile('round/worker');
  }

  /** The rounds this runner holds, waiting ones included: whoever cancels must find them. */
  held(): { taskUid: string; round: number }[] {
    return [...this.#entries.values()].map(({ order: { taskUid, round } }) => ({ taskUid, round }));
  }

  /** A delivery of the stream. Settled by us, sooner or later; never waits. */
  accept(delivery: Delivery<WorkOrder>): void {
    const order = delivery.payload;
    const key = keyOf(order);
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.deliveries.push(delivery);
      return;
    }
    const { spool, done, sender } = this.#options;
    if (spool.has(key) || done.has(key)) {
      this.counts.answeredFromSpool += 1;
      sender.kick(key);
      void this.#ack(delivery);
      return;
    }
    this.#hold(order, 0, delivery);
  }

  /** A round that an earlier process had begun. */
  resume(order: WorkOrder, attempts: number): void {
    const key = keyOf(order);
    if (this.#entries.has(key)) return;
    if (this.#options.spool.has(key) || this.#options.done.has(key)) void this.#options.journal.end(key);
    else this.#hold(order, attempts);
  }

  /** Stops the rounds of a task, or one of them; they report what they measured as `canceled`. Returns how many. */
  cancel(taskUid: string, round: number | undefined, reason: string): number {
    const hit = [...this.#entries.values()].filter(({ order }) => order.taskUid === taskUid && (round === undefined || order.round === round));
    for (const { abort } of hit) abort.abort({ why: 'canceled', reason } satisfies Stop);
    return hit.length;
  }

  /** Restarts the stream's ack wait of everything held. */
  working(): void {
    for (const { deliveries } of this.#entries.values()) for (const delivery of deliveries) delivery.working();
  }

  /**
   * Ends all rounds. `return`: without a result, their orders go back to the stream and the journal runs them again after a restart. `report`: with what they
   * measured, as `error`; orders that come from now on are answered so too. Resolves when all are on disk.
   */
  async stop(how: 'return' | 'report'): Promise<void> {
    this.#stopping = how;
    while (this.#entries.size > 0) {
      const held = [...this.#entries.values()];
      for (const { abort } of held) abort.abort({ why: 'runner' } satisfies Stop);
      await Promise.all(held.map(({ done }) => done));
    }
  }

  #hold(order: WorkOrder, attempts: number, delivery?: Delivery<WorkOrder>): void {
    const entry: Entry = {
      key: keyOf(order),
      order,
      deliveries: delivery === undefined ? [] : [delivery],
      attempts,
      abort: new AbortController(),
      begun: false,
      done: Promise.resolve(),
    };
    this.#entries.set(entry.key, entry);
    entry.done = this.#carry(entry);
  }

  async #carry(entry: Entry): Promise<void> {
    const { key, order, deliveries } = entry;
    const { log, spool, journal, sender } = this.#options;
    // setTimeout takes 24 days at most; a longer one would fire at once.
    const timer = setTimeout(() => entry.abort.abort({ why: 'deadline' } satisfies Stop), Math.min(2 ** 31 - 1, Math.max(0, endOf(order) - Date.now())));
    try {
      const finished = await this.#finish(entry);
      if (finished === undefined) {
        for (const delivery of deliveries) delivery.retry(0);
        return;
      }
      await this.#persist(entry, finished);
      await journal.end(key);
      this.counts.ended[finished.outcome.state] += 1;
      log.info({ round: key, task: `${order.namespace}/${order.task}`, state: finished.outcome.state, reason: finished.outcome.reason, targets: finished.targets.length }, 'round ended');
      sender.kick();
      for (const delivery of deliveries) void this.#ack(delivery);
    } catch (error) {
      // Not spooled: un-acked, the stream delivers it again.
      log.error({ round: key, error: messageOf(error), spool: spool.bytes }, 'round could not be carried through');
      for (const delivery of deliveries) delivery.retry(1_000);
    } finally {
      clearTimeout(timer);
      this.#entries.delete(key);
    }
  }

  /** What the round came to; undefined when the runner stops and leaves it to a later process. */
  async #finish(entry: Entry): Promise<Finished | undefined> {
    const { admission, maxDeliver, journal } = this.#options;
    const { key, order, attempts } = entry;
    const startedAt = new Date().toISOString();
    const none = (state: 'error' | 'canceled', reason: string, cut?: CutCause): Finished => unmeasured(state, reason, startedAt, admission.loadByKind(), cut);
    /** With what an earlier process, or the thread that went wrong, left of the round. */
    const broken = async (cut: CutCause, reason: string): Promise<Finished> => {
      const measured = await journal.measured(key);
      return measured === undefined ? none('error', reason, cut) : brokenOff(cut, reason, measured, admission.loadByKind());
    };
    const pickedUp = Date.now();
    const deliveries = entry.deliveries[0]?.deliveries ?? 0;
    const tries = Math.max(attempts, deliveries - 1);
    if (attempts >= mostAttempts || deliveries >= maxDeliver) return broken('ended', `the runner ended ${tries} times while it had this round`);
    // There is no time to measure all of it again: what was measured is worth more than the beginning of another try.
    if (attempts > 0 && pickedUp + order.request.durationMs > endOf(order) && (await journal.measured(key)) !== undefined) return broken('ended', 'the runner ended while it had this round');
    if (pickedUp >= Date.parse(order.deadline)) return none('error', 'picked up after its deadline');
    try {
      if (this.#stopping === 'report') throw new Error('the runner stops');
      return await this.#measure(entry);
    } catch (error) {
      const stop = stopOf(entry);
      if (this.#stopping === 'return' && stop?.why === 'runner') return undefined;
      if (stop?.why === 'canceled') return none('canceled', stop.reason);
      if (error instanceof RoundOver) return none('canceled', `canceled before it began: ${error.message}`);
      if (error instanceof ThreadFault) {
        this.counts.faults += 1;
        return broken(stop?.why === 'runner' ? 'ended' : 'fault', error.message);
      }
      if (this.#stopping === 'report') return none('error', `${stoppedReason} before the round began`, 'ended');
      if (error instanceof NoMaterials || error instanceof OverCapacity) return none('error', error.message);
      if (stop?.why === 'deadline') return none('error', `waited for capacity (${admission.capacityQps} requests per second) until its deadline`);
      throw error;
    }
  }

  async #measure(entry: Entry): Promise<Finished> {
    const { order, abort, attempts } = entry;
    const { bus, admission, journal, policy, heapMb, log } = this.#options;
    const load = { kind: order.kind, qps: order.request.qps * order.targets.length };
    admission.refuseImpossible(load);
    const materials = await fetchMaterials(bus, order, abort.signal);
    const startAtMs = Date.parse(order.roundStart);
    await sleep(Math.max(0, Math.min(2 ** 31 - 1, startAtMs - threadLeadMs - Date.now())), undefined, { signal: abort.signal });
    const leave = await admission.enter(load, abort.signal);
    try {
      await journal.begin(order, attempts + 1);
      this.counts.begun += 1;
      entry.begun = true;
      log.info({ round: entry.key, task: `${order.namespace}/${order.task}`, targets: order.targets.length, qps: order.request.qps }, 'round begins');
      const planned = order.targets.length * Math.max(1, Math.floor((order.request.qps * order.request.durationMs) / 1000 + 1e-9));
      let last: RoundProgress = { progress: 0, targets: order.targets.length, planned, sent: 0, succeeded: 0, failed: 0, errors: {} };
      this.#live(order, 'started', last);
      const outcome = await measureInThread(
        { order: { targets: order.targets, request: order.request, expect: order.expect }, materials, policy, startAtMs, endAtMs: endOf(order), measuredFile: journal.measuredFile(entry.key) },
        {
          script: this.#script, heapMb, signal: abort.signal,
          onProgress: (progress) => this.#live(order, 'running', (last = progress)),
          onNotKept: (problem) => log.warn({ round: entry.key, error: problem }, 'what the round has measured so far could not be written down'),
        },
      ).finally(() => this.#live(order, 'ended', last));
      if (this.#stopping === 'return') throw new Error('the runner stops');
      return judged(entry, outcome, admission.loadByKind());
    } finally {
      leave();
    }
  }

  /** A full or broken disk must not lose a measurement: tried again until the deadline, un-acked all the while. */
  async #persist(entry: Entry, finished: Finished): Promise<void> {
    const parts = partsOf(entry.order, finished);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#options.spool.put(parts);
        return;
      } catch (error) {
        if (this.#stopping !== undefined || Date.now() > Date.parse(entry.order.deadline)) throw error;
        this.#options.log.error({ round: entry.key, error: messageOf(error), attempt }, 'result could not be written to the spool; trying again');
        await sleep(Math.min(5_000, 250 * 2 ** attempt));
      }
    }
  }

  #live({ runner, node, kind, namespace, task, taskUid, round }: WorkOrder, phase: LiveSample['phase'], progress: RoundProgress): void {
    const sample: LiveSample = { at: new Date().toISOString(), runner, node, kind, namespace, task, taskUid, round, phase, ...progress };
    this.#options.bus.publish(messages.live, { kind, namespace, task, node }, sample);
  }

  async #ack(delivery: Delivery<WorkOrder>): Promise<void> {
    try {
      await delivery.ack();
    } catch (error) {
      // Comes again and is then answered from the spool or the done-list.
      this.#options.log.debug({ subject: delivery.subject, error: messageOf(error) }, 'work was not acked');
    }
  }
}

const stopOf = ({ abort: { signal } }: Entry): Stop | undefined => (signal.aborted ? (signal.reason as Stop) : undefined);

/** What the thread measured, with the reason why it was stopped, if it was. */
function judged(entry: Entry, measured: RoundOutcome, runningLoad: Finished['outcome']['runningLoad']): Finished {
  const { targets, starvation, startedAt, endedAt } = measured;
  const base = { startedAt, endedAt, targetCount: targets.length, starvation, runningLoad };
  const stop = measured.state === 'canceled' ? stopOf(entry) : undefined;
  if (stop?.why === 'canceled') return { targets, outcome: { ...base, state: 'canceled', reason: stop.reason } };
  if (stop?.why === 'deadline') return { targets, outcome: { ...base, state: 'error', cut: 'deadline', reason: `cut off at its deadline, with ${share(targets)}` } };
  if (stop?.why === 'runner') return { targets, outcome: { ...base, state: 'error', cut: 'ended', reason: `${stoppedReason} during the round; measured until ${endedAt}` } };
  const reasons = [...(measured.reason === undefined ? [] : [measured.reason]), ...(entry.attempts === 0 ? [] : ['the runner ended while it had this round, was started again, and measured all of it anew'])];
  return { targets, outcome: { ...base, state: measured.state, ...(entry.attempts === 0 ? {} : { cut: 'restarted' as const }), ...(reasons.length === 0 ? {} : { reason: reasons.join('; ') }) } };
}

/** `9 of 15 requests sent and 8 ended`: those under way are neither answered nor given up. */
function share(targets: readonly TargetResult[]): string {
  const sum = (of: (target: TargetResult) => number): number => targets.reduce((total, target) => total + of(target), 0);
  return `${sum(({ sent }) => sent)} of ${sum(({ planned }) => planned)} requests sent and ${sum(({ succeeded, failed, errors }) => succeeded + failed - (errors.canceled ?? 0))} ended`;
}
