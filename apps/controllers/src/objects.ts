import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@roundsman/api';
import { messages, ServiceError, serviceUser, type Bus } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import { eventName, foldEvent, type EventObject, type Occurrence } from './events.ts';

const user = serviceUser('controllers');

type Draft = Record<string, unknown> & { metadata: Partial<KubeObject['metadata']> & { name: string } };

/** Writes of the controllers, each only when it changes something; answers go into the cache, so that the next look sees them. */
export class Objects {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async create<T extends KubeObject>(cache: Informer<T>, object: Draft): Promise<T> {
    return this.#write(cache, 'create', object);
  }

  async update<T extends KubeObject>(cache: Informer<T>, object: Draft): Promise<T> {
    return this.#write(cache, 'update', object);
  }

  /** Only the status of this very object (same uid), whatever else has changed meanwhile. */
  async updateStatus<T extends KubeObject>(cache: Informer<T>, object: T, status: unknown): Promise<T> {
    if (isDeepStrictEqual(object.status, status)) return object;
    const { name, namespace, uid } = object.metadata;
    return this.#write(cache, 'updateStatus', { apiVersion: object.apiVersion, kind: object.kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid }, spec: object.spec, status });
  }

  /** Gone already is fine, and so is another object of that name. */
  async remove(cache: Informer, { metadata: { namespace, name, uid } }: KubeObject): Promise<void> {
    try {
      await this.#bus.request(messages.write, {}, { operation: 'delete', resource: cache.resource, ...(namespace === undefined ? {} : { namespace }), name, preconditions: { uid }, user });
    } catch (error) {
      if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409))) throw error;
    }
  }

  /** Tells of an object. `owned`: the Event goes when the object goes. */
  async tell(events: Informer, object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, occurrences: readonly Occurrence[], owned = false): Promise<void> {
    const reason = occurrences[0]?.reason;
    if (reason === undefined) return;
    const existing = events.get(object.metadata.namespace ?? 'default', eventName(object, reason)) as unknown as EventObject | undefined;
    const event = foldEvent(object, existing, occurrences, owned);
    if (event === undefined) return;
    await this.#write(events, existing === undefined ? 'create' : 'update', event as unknown as Draft);
  }

  async #write<T extends KubeObject>(cache: Informer<T>, operation: 'create' | 'update' | 'updateStatus', object: Draft): Promise<T> {
    const { name, namespace } = object.metadata;
    const reply = await this.#bus.request(messages.write, {}, { operation, resource: cache.resource, ...(namespace === undefined ? {} : { namespace }), name, object, user });
    const stored = reply.object as unknown as T;
    cache.observe(stored);
    return stored;
  }
}
