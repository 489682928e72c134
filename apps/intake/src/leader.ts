import { ApiError, serviceUnavailable, type Limits, type Policy } from '@roundsman/api';
import { messages, ServiceError, type Bus, type Change, type Endpoint, type Subscription } from '@roundsman/bus';
import { commitChanges, loadState, trimHistory, type KeepHistory, type Leadership, type Store } from '@roundsman/store';
import type { Logger } from 'pino';
import { admit, type Admitted, type WriteRequest } from './admit.ts';
import { GroupCommit, type WriteReply } from './group-commit.ts';
import type { IntakeMetrics } from './metrics.ts';
import { ensureNamespaces, NamespaceSweep } from './namespaces.ts';
import * as reads from './reads.ts';
import { State } from './state.ts';
import { isInternal } from './users.ts';

export interface LeaderPorts {
  readonly bus: Bus;
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: IntakeMetrics;
  readonly limits: Limits;
  readonly policy: Policy;
  readonly keep: KeepHistory;
}

/** Their content never travels: who may see it reads it from the rows. */
const withheld: ReadonlySet<string> = new Set(['secrets']);

/** What is told of a change. Annotations would hold the content too (`kubectl apply` keeps a copy there). */
function announcementOf(change: Change): Change {
  if (!withheld.has(change.resource)) return change;
  const { apiVersion, kind, metadata } = change.object;
  const { name, namespace, uid, resourceVersion } = metadata;
  return { ...change, object: { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } }, withheld: true };
}

/** A transaction that takes longer is given up, and with it the leadership: its outcome is unknown. */
const commitTimeoutMs = 5_000;
const beaconMs = 1_000;
/** A beacon may be lost like any message: each news is told this often. */
const beaconRepeats = 3;
const trimMs = 30_000;

/** One term as the only writer: loads the state, serves until the session is lost or `stop` is called. */
export class Term {
  readonly #ports: LeaderPorts;
  readonly #leadership: Leadership;
  readonly #state: State;
  readonly #group: GroupCommit;
  readonly #sweep: NamespaceSweep;
  readonly #broken = Promise.withResolvers<string>();
  #service: Subscription | undefined;
  #timers: NodeJS.Timeout[] = [];

  /** Rejects when the state cannot be read or the first namespaces cannot be written. */
  static async begin(leadership: Leadership, ports: LeaderPorts): Promise<Term> {
    const state = new State(await loadState(leadership.client));
    const term = new Term(leadership, state, ports);
    try {
      await ensureNamespaces(state, (write) => term.#group.submit(write));
      await term.#open();
    } catch (error) {
      // Endpoints of a term that never was must not answer beside those of the next one.
      await term.end();
      throw error;
    }
    return term;
  }

  private constructor(leadership: Leadership, state: State, ports: LeaderPorts) {
    this.#leadership = leadership;
    this.#state = state;
    this.#ports = ports;
    this.#group = new GroupCommit(state, {
      admit: (write) => this.#admit(write),
      commit: (changes) => this.#commit(changes),
      committed: (changes, tookMs) => this.#announce(changes, tookMs),
      settled: (write, outcome, version) => this.#settled(write, outcome, version),
      failed: (error) => this.#broken.resolve(`a commit failed: ${error.message}`),
    });
    this.#sweep = new NamespaceSweep(state, (write) => this.#group.submit(write), ports.log);
    void leadership.lost.then((why) => {
      void this.#group.close(`this intake is no longer the leader: ${why}`);
      this.#broken.resolve(why);
    });
  }

  /** Resolves with why the term is over. */
  get over(): Promise<string> {
    return this.#broken.promise;
  }

  async #open(): Promise<void> {
    const { bus, metrics, log } = this.#ports;
    this.#service = await bus.serve({ name: 'intake', version: '1.0.0', description: 'Admits, commits and announces every write of an object' }, this.#endpoints());
    metrics.leading(this.#state);
    log.info({ version: this.#state.head, objects: this.#state.counts().reduce((sum, [, count]) => sum + count, 0) }, 'leading');
    this.#sweep.start();
    this.#beacon();
    const trim = setInterval(() => void this.#trim(), trimMs);
    trim.unref();
    this.#timers.push(trim);
  }

  #endpoints(): Endpoint<never, unknown>[] {
    const state = this.#state;
    const answered =
      <Q, A>(handle: (request: Q) => A | Promise<A>) =>
      async (request: Q): Promise<A> => {
        try {
          if (!this.#leadership.held) throw serviceUnavailable('this intake is no longer the leader');
          return await handle(request);
        } catch (error) {
          if (error instanceof ApiError) throw new ServiceError(error.code, error.message, error.status);
          throw error;
        }
      };
    const endpoints = [
      { message: messages.write, handle: answered<WriteRequest, WriteReply>((write) => this.#group.submit(write)) },
      { message: messages.get, handle: answered<Parameters<typeof reads.get>[1], unknown>((request) => reads.get(state, request)) },
      { message: messages.list, handle: answered<Parameters<typeof reads.list>[1], unknown>((request) => reads.list(state, request)) },
      { message: messages.changes, handle: answered<Parameters<typeof reads.changes>[1], unknown>((request) => reads.changes(this.#ports.store, request)) },
    ];
    return endpoints as unknown as Endpoint<never, unknown>[];
  }

  #admit(write: WriteRequest): Admitted {
    return admit(write, {
      admitted: (resource, namespace, name) => this.#state.admitted(resource, namespace, name),
      list: (resource) => this.#state.list(resource),
      limits: this.#ports.limits,
      policy: this.#ports.policy,
      now: Date.now(),
    });
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    if (!this.#leadership.held) throw new Error('the leadership was lost');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer from Postgres within ${commitTimeoutMs} ms`)), commitTimeoutMs);
    });
    try {
      await Promise.race([commitChanges(this.#leadership.client, changes), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #announce(changes: readonly Change[], tookMs: number): void {
    const { bus, metrics, log } = this.#ports;
    for (const change of changes) {
      try {
        bus.publish(messages.change, { resource: change.resource, namespace: change.namespace, name: change.name }, announcementOf(change));
      } catch (error) {
        // It is committed all the same; whoever follows the versions sees the hole and reads it.
        log.error({ err: error, version: change.version }, 'a change could not be announced');
      }
    }
    metrics.committed(changes.length, tookMs);
    this.#sweep.committed(changes);
  }

  /** The audit line: who did what; never what is in the object. */
  #settled(write: WriteRequest, outcome: Admitted | ApiError, version: number | undefined): void {
    const { log, metrics } = this.#ports;
    metrics.settled(write, outcome);
    const level = isInternal(write.user) ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    const { operation, resource, namespace, user, fieldManager, view, dryRun } = write;
    const refused = outcome instanceof ApiError;
    const name = refused ? write.name : outcome.name;
    const fields = { user, operation, resource, namespace, name, ...(version !== undefined && { version }), ...(fieldManager !== undefined && { fieldManager }), ...(view !== undefined && { view }), ...(dryRun && { dryRun }) };
    if (refused) log[level]({ ...fields, reason: outcome.status.reason }, 'write refused');
    else log[level]({ ...fields, uid: outcome.object.metadata.uid }, outcome.type === undefined ? 'write without change' : 'write');
  }

  /** Tells the newest versions while there is news, so that a watcher sees that it lost the last message. */
  #beacon(): void {
    let told = -1;
    let left = beaconRepeats;
    const beat = (): void => {
      if (this.#state.head !== told) left = beaconRepeats;
      if (left === 0) return;
      left--;
      told = this.#state.head;
      this.#ports.bus.publish(messages.changeHead, {}, { version: told, ofResource: this.#state.lastOfResource() });
    };
    beat();
    const timer = setInterval(beat, beaconMs);
    timer.unref();
    this.#timers.push(timer);
  }

  async #trim(): Promise<void> {
    try {
      const removed = await trimHistory(this.#leadership.client, this.#ports.keep, { goOn: () => this.#leadership.held });
      if (removed > 0) this.#ports.metrics.trimmed(removed);
    } catch (error) {
      this.#ports.log.warn({ err: error }, 'trimming the history failed');
    }
  }

  /** Serves nothing more, waits for what is on its way, and gives the leadership up. */
  async end(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#sweep.stop();
    this.#ports.metrics.leading(undefined);
    const settled = this.#group.close('this intake is stopping; try again');
    await this.#service?.stop();
    await settled;
    await this.#leadership.release();
  }
}
