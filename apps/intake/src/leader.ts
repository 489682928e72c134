import { ApiError, systemServices, type ClusterNetwork, type KubeObject, type Limits, type Policy, type Service } from '@roundsman/api';
import { messages, type Bus, type Change, type Subscription } from '@roundsman/bus';
import { commitChanges, loadState, trimHistory, type KeepHistory, type Leadership, type Store } from '@roundsman/store';
import type { Logger } from 'pino';
import { admit } from './admission/admit.ts';
import type { Admitted, AdmissionView, WriteRequest } from './admission/outcome.ts';
import { endpointsOf } from './endpoints.ts';
import { AddressBook } from './addresses/book.ts';
import { HostBook } from './addresses/hosts.ts';
import { ensureFirstObjects, isMissed } from './first-objects.ts';
import { GroupCommit } from './group-commit.ts';
import type { IntakeMetrics } from './metrics.ts';
import { NamespaceSweep } from './namespaces.ts';
import { NetworkAnnouncer } from './network/announcer.ts';
import { checkGivenOut } from './network/given-out.ts';
import { clusterNetworkOf, type NetworkSettings } from './network/settings.ts';
import { Nodes } from './nodes.ts';
import { State } from './state.ts';
import { isRoutine } from './users.ts';
import { announcementOf } from './withheld.ts';

export interface LeaderPorts {
  readonly bus: Bus;
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: IntakeMetrics;
  readonly limits: Limits;
  readonly policy: Policy;
  readonly keep: KeepHistory;
  readonly network: NetworkSettings;
}

/** A transaction that takes longer is given up, and with it the leadership: its outcome is unknown. */
const commitTimeoutMs = 5_000;
const beaconMs = 1_000;
/** A beacon may be lost like any message: each news is told this often. */
const beaconRepeats = 3;
const trimMs = 30_000;

/** The cluster's DNS keeps the addresses that it has. */
function networkOf(state: State, settings: NetworkSettings): ClusterNetwork {
  const { clusterIPs = [] } = (state.get('services', systemServices.namespace, systemServices.dns) as Service | undefined)?.spec ?? {};
  return clusterNetworkOf(settings, clusterIPs.length === 0 || clusterIPs[0] === 'None' ? undefined : clusterIPs);
}

/** One term as the only writer: loads the state, serves until the session is lost or `stop` is called. */
export class Term {
  readonly #ports: LeaderPorts;
  readonly #leadership: Leadership;
  readonly #state: State;
  readonly #group: GroupCommit;
  readonly #sweep: NamespaceSweep;
  readonly #nodes: Nodes;
  readonly #network: NetworkAnnouncer;
  readonly #addresses: AddressBook;
  readonly #hosts: HostBook;
  readonly #admitted = (...[resource, namespace, name]: Parameters<State['admitted']>): KubeObject | undefined => this.#state.admitted(resource, namespace, name);
  readonly #list = (resource: string): KubeObject[] => this.#state.admittedList(resource);
  readonly #broken = Promise.withResolvers<string>();
  #service: Subscription | undefined;
  #timers: NodeJS.Timeout[] = [];

  /** Rejects when the state cannot be read or the first objects cannot be written. */
  static async begin(leadership: Leadership, ports: LeaderPorts): Promise<Term> {
    const state = new State(await loadState(leadership.client));
    const network = networkOf(state, ports.network);
    checkGivenOut(network, { services: state.list('services'), nodes: state.list('nodes') });
    const term = new Term(leadership, state, network, ports);
    try {
      await term.#ensureFirstObjects();
      await term.#open();
    } catch (error) {
      // Endpoints of a term that never was must not answer beside those of the next one.
      await term.end();
      throw error;
    }
    return term;
  }

  private constructor(leadership: Leadership, state: State, network: ClusterNetwork, ports: LeaderPorts) {
    this.#leadership = leadership;
    this.#state = state;
    this.#ports = ports;
    this.#group = new GroupCommit(state, {
      admit: (write) => admit(write, this.#view()),
      commit: (changes) => this.#commit(changes),
      committed: (changes, tookMs) => this.#announce(changes, tookMs),
      settled: (write, outcome, version) => this.#settled(write, outcome, version),
      failed: (error) => this.#broken.resolve(`a commit failed: ${error.message}`),
    });
    this.#sweep = new NamespaceSweep(state, (write) => this.#group.submit(write), ports.log);
    this.#nodes = new Nodes(state, ports.bus, ports.log);
    this.#addresses = new AddressBook(network, state);
    this.#hosts = new HostBook(state);
    this.#network = new NetworkAnnouncer(state, network, ports.bus, ports.log);
    void leadership.lost.then((why) => {
      void this.#group.close(`this intake is no longer the leader: ${why}`);
      this.#broken.resolve(why);
    });
  }

  /** Resolves with why the term is over. */
  get over(): Promise<string> {
    return this.#broken.promise;
  }

  #ensureFirstObjects(): Promise<void> {
    return ensureFirstObjects(this.#state, this.#addresses.network, (write) => this.#group.submit(write));
  }

  async #open(): Promise<void> {
    const { bus, metrics, log } = this.#ports;
    const ports = { state: this.#state, store: this.#ports.store, group: this.#group, nodes: this.#nodes, network: this.#network, view: () => this.#view(), leading: () => this.#leadership.held };
    this.#service = await bus.serve({ name: 'intake', version: '1.0.0', description: 'Admits, commits and announces every write of an object' }, endpointsOf(ports));
    metrics.leading(this.#state);
    log.info({ version: this.#state.head, objects: this.#state.counts().reduce((sum, [, count]) => sum + count, 0) }, 'leading');
    this.#sweep.start();
    this.#beacon();
    const trim = setInterval(() => void this.#trim(), trimMs);
    trim.unref();
    this.#timers.push(trim);
  }

  /** What writes are judged by: objects as admitted so far. */
  #view(): AdmissionView {
    const { limits, policy } = this.#ports;
    return { admitted: this.#admitted, list: this.#list, limits, policy, now: Date.now(), addresses: this.#addresses, hosts: this.#hosts };
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
    this.#nodes.committed(changes);
    this.#network.committed(changes);
    this.#sweep.committed(changes);
    if (changes.some(isMissed)) this.#ensureFirstObjects().catch((error: unknown) => log.warn({ err: error }, 'what every cluster has could not be made again'));
  }

  /** The audit line: who did what; never what is in the object. */
  #settled(write: WriteRequest, outcome: Admitted | ApiError, version: number | undefined): void {
    const { log, metrics } = this.#ports;
    metrics.settled(write, outcome);
    const level = isRoutine(write.user) ? 'debug' : 'info';
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
