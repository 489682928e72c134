import { isDeepStrictEqual } from 'node:util';
import { isPodEnded, type Node, type Pod } from '@roundsman/api';
import type { Seen } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { PodCaches } from './caches.ts';
import { podInfo, waitsForNode } from './cluster/pod-info.ts';
import type { ClusterState } from './cluster/state.ts';
import type { Happening } from './filters/filter.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

export interface Watched {
  readonly caches: PodCaches;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly log: Logger;
}

/** Brings what there is into the state and the queue, and every change from then on; the answer ends that. */
export function watchCluster(watched: Watched): () => void {
  const { caches, queue, log } = watched;
  /** Handlers of informers must not throw: what cannot be understood is told and left out. */
  const safely = <T extends { object: { metadata: { name: string } } }>(handle: (seen: T) => void) => (seen: T): void => {
    try {
      handle(seen);
    } catch (error) {
      log.error({ err: error, name: seen.object.metadata.name }, 'an object cannot be understood by the scheduler and does not count');
    }
  };
  const nodeSeen = safely((seen: Seen<Node>) => onNode(seen, watched));
  const podSeen = safely((seen: Seen<Pod>) => onPod(seen, watched));
  const off = [
    caches.nodes.onChange(nodeSeen),
    caches.pods.onChange(podSeen),
    caches.namespaces.onChange(({ object, before }) => {
      if (!isDeepStrictEqual(object.metadata.labels, before?.metadata.labels)) queue.happened('namespace-labels');
    }),
    ...[caches.claims, caches.volumes, caches.storageClasses].map((informer) => informer.onChange(() => queue.happened('storage'))),
  ];
  for (const object of caches.nodes.list()) nodeSeen({ type: 'ADDED', object, before: undefined });
  for (const object of caches.pods.list()) podSeen({ type: 'ADDED', object, before: undefined });
  return () => off.forEach((end) => end());
}

function onNode({ type, object, before }: Seen<Node>, { state, queue }: Watched): void {
  if (type === 'DELETED') state.removeNode(object.metadata.name);
  else state.setNode(object);
  for (const happening of nodeHappenings(type === 'DELETED' ? undefined : object, before)) queue.happened(happening);
}

function nodeHappenings(now: Node | undefined, before: Node | undefined): Happening[] {
  if (now === undefined) return ['node-removed'];
  if (before === undefined) return ['node-added'];
  const facets: [Happening, (node: Node) => unknown][] = [
    ['node-allocatable', ({ status }) => status?.allocatable],
    ['node-labels', ({ metadata }) => metadata.labels],
    ['node-taints', ({ spec }) => [spec.taints, spec.unschedulable]],
    ['node-conditions', ({ status }) => status?.conditions?.map((condition) => [condition.type, condition.status])],
  ];
  return facets.filter(([, of]) => !isDeepStrictEqual(of(now), of(before))).map(([happening]) => happening);
}

function onPod({ type, object, before }: Seen<Pod>, { state, queue }: Watched): void {
  const { uid } = object.metadata;
  const node = object.spec.nodeName ?? '';
  if (type === 'DELETED' || isPodEnded(object)) {
    queue.remove(uid);
    if (state.remove(uid)) queue.happened('pod-gone');
  } else if (node !== '') {
    queue.remove(uid);
    const pod = podInfo(object);
    const known = state.place(pod, node);
    if (known === undefined) queue.happened('pod-placed');
    else if (known.class.key !== pod.class.key) queue.happened('pod-labels');
  } else if (!waitsForNode(object)) {
    queue.remove(uid);
    if (!state.isAssumed(uid) && state.remove(uid)) queue.happened('pod-gone');
  } else {
    const pod = podInfo(object);
    // What is known here of a nomination may be ahead of the object.
    if (before?.status?.nominatedNodeName !== object.status?.nominatedNodeName) state.nominate(pod, object.status?.nominatedNodeName);
    queue.put(pod);
  }
}
