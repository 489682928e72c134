import { serviceUser, type Bus } from '@roundsman/bus';
import { EventRecorder, type Replica } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { PodCaches } from './caches.ts';
import { ClusterState } from './cluster/state.ts';
import type { PodMetrics } from './metrics.ts';
import { PodScheduler } from './pod-scheduler.ts';
import { SchedulingQueue } from './queue/scheduling-queue.ts';
import { watchCluster } from './watch.ts';
import { ClaimBinding } from './writes/claim-binding.ts';
import { PodWrites } from './writes/pod-writes.ts';

export interface LeadPodsOptions {
  readonly bus: Bus;
  readonly caches: PodCaches;
  readonly replica: Pick<Replica, 'reached'>;
  readonly metrics: PodMetrics;
  readonly log: Logger;
}

/** Why a pod has no node is written again at most so often. */
const toldAgainMs = 60_000;

/** What only the leader does with pods: gives each that has none its node, until `onEnd` is called. */
export async function leadPods({ bus, caches, replica, metrics, log }: LeadPodsOptions, onEnd: (end: () => unknown) => void, over: AbortSignal): Promise<void> {
  // What the leader before bound last takes room, too.
  await replica.reached(await caches.reader.head(), over);
  over.throwIfAborted();
  const state = new ClusterState(caches);
  const queue: SchedulingQueue = new SchedulingQueue({ onReady: () => scheduler.wake() });
  const { reader } = caches;
  const recorder = new EventRecorder({ bus, user: serviceUser('scheduler'), read: (resource, namespace, name) => reader.get(resource, namespace, name), log, againMs: toldAgainMs });
  const scheduler = new PodScheduler({ caches, state, queue, writes: new PodWrites(bus, caches), claims: new ClaimBinding(bus, caches), tell: recorder.from('default-scheduler'), metrics, log });
  onEnd(() => queue.stop());
  onEnd(() => {
    recorder.end();
    return recorder.flushed();
  });
  onEnd(() => scheduler.stop());
  metrics.follow(queue);
  onEnd(() => metrics.follow(undefined));
  onEnd(watchCluster({ caches, state, queue, log }));
}
