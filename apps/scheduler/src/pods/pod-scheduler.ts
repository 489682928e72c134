import type { PodStatus } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Tell } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { PodCaches } from './caches.ts';
import { waitsForNode, type PodInfo } from './cluster/pod-info.ts';
import type { ClusterState } from './cluster/state.ts';
import { decide, type Refusals } from './decision/decide.ts';
import { noNodes, unplaceable } from './decision/explain.ts';
import { preempt, type Eviction } from './decision/preempt.ts';
import type { Happening } from './filters/filter.ts';
import type { PodMetrics } from './metrics.ts';
import type { QueuedPod, SchedulingQueue } from './queue/scheduling-queue.ts';
import { ClaimsNotBound, type ClaimBinding } from './writes/claim-binding.ts';
import { withCondition, type PodWrites } from './writes/pod-writes.ts';

export interface PodSchedulerOptions {
  readonly caches: PodCaches;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly writes: PodWrites;
  readonly claims: ClaimBinding;
  /** For events of pods. */
  readonly tell: Tell;
  readonly metrics: PodMetrics;
  readonly log: Logger;
  /** 0 to 1; chooses between equally good nodes. */
  readonly random?: () => number;
}

/** Decisions that are being written at a time: the next pods are decided meanwhile, as if these had come true. */
const writingLimit = 256;
/** Others in this process get their turn after so many milliseconds of deciding. */
const turnMs = 10;

/** Takes pods from the queue one after the other, decides on each, and brings about what was decided in the background. */
export class PodScheduler {
  readonly #options: PodSchedulerOptions;
  readonly #writing = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: PodSchedulerOptions) {
    this.#options = options;
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#stopped || this.#running !== undefined) return;
    this.#running = this.#run();
  }

  /** Nothing new is decided; resolves when what was decided is written or given up. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.claims.stop();
    await this.#running;
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  async #run(): Promise<void> {
    // In a later turn: whoever wakes is in the middle of something.
    await nextTurn();
    const { queue, metrics, log } = this.#options;
    let since = performance.now();
    while (!this.#stopped && this.#writing.size < writingLimit) {
      const next = queue.take();
      if (next === undefined) break;
      try {
        this.#schedule(next);
      } catch (error) {
        // The others do not wait for one that cannot be understood.
        log.error({ err: error, pod: `${next.pod.namespace}/${next.pod.name}` }, 'a pod could not be decided on; it is tried again');
        metrics.attempted('error');
        queue.rest(next.pod.uid);
      }
      if (performance.now() - since < turnMs) continue;
      await nextTurn();
      since = performance.now();
    }
    this.#running = undefined;
  }

  #schedule(queued: QueuedPod): void {
    const { state, metrics, random = Math.random } = this.#options;
    const begun = performance.now();
    const decision = decide(queued.pod, state, { nominated: state.nominatedOn, random });
    if (decision.node === undefined) this.#refused(queued.pod, decision.refusals);
    else {
      state.assume(queued.pod, decision.node.name);
      this.#background(this.#bind(queued, decision.node.name));
    }
    metrics.decided((performance.now() - begun) / 1000);
  }

  async #bind({ pod, attempts, sinceMs }: QueuedPod, node: string): Promise<void> {
    const { writes, claims, tell, metrics, log } = this.#options;
    try {
      await claims.bind(pod, node);
      await writes.bind(pod.pod, node);
    } catch (error) {
      await this.#notBound(pod, node, error);
      return;
    }
    tell(pod.pod, 'Normal', 'Scheduled', `Successfully assigned ${pod.namespace}/${pod.name} to ${node}`);
    metrics.attempted('scheduled');
    metrics.bound(Math.max(0, Date.now() - sinceMs) / 1000);
    log.debug({ pod: `${pod.namespace}/${pod.name}`, node, attempts }, 'pod bound');
  }

  /** What was assumed is undone, unless it turns out to be true. */
  async #notBound(pod: PodInfo, node: string, error: unknown): Promise<void> {
    const { state, queue, writes, metrics, log } = this.#options;
    log.warn({ err: error, pod: `${pod.namespace}/${pod.name}`, node }, 'a pod could not be bound');
    metrics.attempted('error');
    const taken = error instanceof ServiceError && (error.code === 404 || error.code === 409);
    try {
      // Gone, another of its name, or placed by somebody else: the cache has not heard of it yet.
      const stored = taken ? await writes.refresh(pod.pod) : pod.pod;
      if (stored === undefined || stored.metadata.uid !== pod.uid) queue.remove(pod.uid);
    } finally {
      if (state.isAssumed(pod.uid) && state.remove(pod.uid)) queue.happened('pod-gone');
      queue.rest(pod.uid);
    }
    if (error instanceof ClaimsNotBound && !this.#stopped) await this.#tell(pod, 'SchedulerError', `running PreBind plugin "VolumeBinding": ${error.message}`);
    if (error instanceof ServiceError && !taken) await this.#tell(pod, 'SchedulerError', `binding rejected: ${error.message}`);
  }

  #refused(pod: PodInfo, refusals: Refusals): void {
    const { state, queue, caches, metrics } = this.#options;
    metrics.attempted('unschedulable');
    if (state.nodes.length === 0) {
      queue.rest(pod.uid, new Set<Happening>(['node-added']));
      this.#background(this.#tell(pod, 'Unschedulable', noNodes));
      return;
    }
    const helpedBy = new Set([...refusals.values()].flatMap(({ filter }) => filter.helpedBy));
    const message = unplaceable(state.nodes.length, [...refusals.values()]);
    const preemption = preempt(pod, state, refusals, { budgets: caches.budgets.list(), nominated: state.nominatedOn });
    const { eviction } = preemption;
    if (eviction === undefined) {
      if (!preemption.waits) state.nominate(pod, undefined);
      queue.rest(pod.uid, helpedBy);
      this.#background(this.#tell(pod, 'Unschedulable', `${message} preemption: ${preemption.why}`, preemption.waits ? undefined : ''));
      return;
    }
    const displaced = state.nominatedOn(eviction.node).filter(({ priority }) => priority < pod.priority);
    for (const other of displaced) state.nominate(other, undefined);
    state.nominate(pod, eviction.node);
    metrics.preempted(eviction.victims.length);
    this.#background(this.#tell(pod, 'Unschedulable', message, eviction.node));
    // Not tried again before the victims were told to go: it would choose others.
    this.#background(this.#evict(pod, eviction, displaced).finally(() => queue.rest(pod.uid, helpedBy)));
  }

  async #evict({ uid, pod }: PodInfo, { node, victims }: Eviction, displaced: readonly PodInfo[]): Promise<void> {
    const { writes, tell, log } = this.#options;
    log.info({ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, node, victims: victims.map((victim) => `${victim.namespace}/${victim.name}`) }, 'ending less important pods to make room');
    await Promise.all(displaced.map((other) => writes.updateStatus(other.pod, (status) => nominatedTo(status, ''))));
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: `${pod.spec.schedulerName}: preempting to accommodate a higher priority pod` } as const;
    await Promise.all(
      victims.map(async (victim) => {
        await writes.updateStatus(victim.pod, (status) => withCondition(status, target, Date.now()));
        await writes.remove(victim.pod);
        tell(victim.pod, 'Normal', 'Preempted', `Preempted by pod ${uid} on node ${node}`);
      }),
    );
  }

  /** Why the pod has no node, in an event and in its status. `nominated`: the node where room is made; empty: none any more; undefined: as it was. */
  async #tell({ pod }: PodInfo, reason: 'Unschedulable' | 'SchedulerError', message: string, nominated?: string): Promise<void> {
    const { writes, tell, log } = this.#options;
    log.debug({ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, reason, message }, 'pod not placed');
    tell(pod, 'Warning', 'FailedScheduling', message);
    await writes.updateStatus(pod, (status, now) => (waitsForNode(now) ? nominatedTo(withCondition(status, { type: 'PodScheduled', status: 'False', reason, message }, Date.now()), nominated) : status));
  }

  /** Runs beside everything else; `stop` waits for it. */
  #background(work: Promise<void>): void {
    const { log } = this.#options;
    const writing = work
      .catch((error: unknown) => log.warn({ err: error }, 'what was decided of a pod could not be written; it will be decided again'))
      .finally(() => {
        const full = this.#writing.size >= writingLimit;
        this.#writing.delete(writing);
        if (full) this.wake();
      });
    this.#writing.add(writing);
  }
}

function nominatedTo(status: PodStatus, node: string | undefined): PodStatus {
  if (node === undefined) return status;
  const { nominatedNodeName: _before, ...rest } = status;
  return node === '' ? rest : { ...rest, nominatedNodeName: node };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
