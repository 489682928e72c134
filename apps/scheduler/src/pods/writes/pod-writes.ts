import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, Pod, PodCondition, PodStatus } from '@roundsman/api';
import { messages, ServiceError, serviceUser, type Bus, type Write } from '@roundsman/bus';
import type { PodCaches } from '../caches.ts';

/** An intake that died took the request with it. */
const timeoutMs = 3_000;
/** Tries to write a status that others write at the same time. */
const tries = 5;

/** What the scheduler writes of pods. Answers go into the cache, so that the next look sees them. */
export class PodWrites {
  readonly #bus: Bus;
  readonly #caches: PodCaches;

  constructor(bus: Bus, caches: PodCaches) {
    this.#bus = bus;
    this.#caches = caches;
  }

  /** Puts a pod on a node; a 409 when it is on one already, or is another one of its name. */
  async bind({ metadata: { uid, ...at } }: Pod, node: string): Promise<void> {
    await this.#write(at, { operation: 'bind', node, preconditions: { uid } });
  }

  /** Asks a pod to end in its own time. One that is gone is fine. */
  async remove({ metadata: { uid, ...at } }: Pod): Promise<void> {
    try {
      await this.#write(at, { operation: 'delete', preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409))) throw error;
    }
  }

  /** Changes the status of this very pod. `change` sees the newest one and may be asked again; one that is gone is fine. */
  async updateStatus(pod: Pod, change: (status: PodStatus, pod: Pod) => PodStatus): Promise<void> {
    let now: Pod | undefined = this.#caches.pods.byUid(pod.metadata.uid);
    for (let left = tries; now !== undefined && now.metadata.uid === pod.metadata.uid; left--) {
      const { name, namespace, uid, resourceVersion } = now.metadata;
      const status = change(now.status ?? {}, now);
      if (isDeepStrictEqual(status, now.status ?? {})) return;
      try {
        return await this.#write({ name, namespace }, { operation: 'updateStatus', object: { apiVersion: now.apiVersion, kind: now.kind, metadata: { name, namespace, uid, resourceVersion }, status } });
      } catch (error) {
        if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409)) || left === 1) throw error;
        now = (await this.#caches.reader.get('pods', namespace, name)) as Pod | undefined;
      }
    }
  }

  /** Reads the pod past the cache, and puts what is found there. */
  async refresh({ metadata: { namespace, name } }: Pod): Promise<Pod | undefined> {
    const found = (await this.#caches.reader.get('pods', namespace, name)) as Pod | undefined;
    if (found !== undefined) this.#caches.pods.observe(found);
    return found;
  }

  async #write({ namespace, name }: { namespace?: string | undefined; name: string }, write: Pick<Write, 'operation' | 'node' | 'preconditions' | 'object'>): Promise<void> {
    const at = { resource: 'pods', ...(namespace === undefined ? {} : { namespace }), name };
    const { object } = await this.#bus.request(messages.write, {}, { ...at, ...write, user: serviceUser('scheduler') }, { timeoutMs });
    // What went at once is told as gone by the change itself.
    if (write.operation !== 'delete' || (object as unknown as KubeObject).metadata.deletionTimestamp !== undefined) this.#caches.pods.observe(object as unknown as Pod);
  }
}

/** A status with one condition set; its time moves only when its status does. */
export function withCondition(status: PodStatus, condition: Required<Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>>, nowMs: number): PodStatus {
  const conditions = status.conditions ?? [];
  const before = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const next = { ...before, lastProbeTime: null, ...condition, lastTransitionTime };
  return { ...status, conditions: before === undefined ? [...conditions, next] : conditions.map((one) => (one === before ? next : one)) };
}
