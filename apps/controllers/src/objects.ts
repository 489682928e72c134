import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@roundsman/api';
import { messages, ServiceError, serviceUser, type Bus, type Write } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import { wholeSeconds } from './timestamps.ts';

/** In whose name the controllers write. */
export const user = serviceUser('controllers');

/** An object as it is to be, with whatever members its kind has; what the server sets may be left out. */
export interface Draft {
  readonly apiVersion: string;
  readonly kind: string;
  /** `generateName` instead of `name`: the server makes one. */
  readonly metadata: Partial<KubeObject['metadata']>;
}

export interface Deletion {
  /** What becomes of what it owns; default Background. */
  readonly propagationPolicy?: Write['propagationPolicy'];
  /** Default: the object's own. */
  readonly gracePeriodSeconds?: number;
  /** Only in this state; default: whatever happened to it meanwhile. */
  readonly resourceVersion?: string;
}

/** This instance does not lead any more: what it was about to write is another's business now. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';
  constructor() {
    super('this instance does not lead any more');
  }
}

/**
 * Writes of the controllers. Every answer goes into the cache at once, so that the next look sees it: nothing is made or deleted twice
 * because news is late. Throws ServiceError when intake refuses (409: the object has changed; the next look reads it anew).
 */
export class Objects {
  readonly #bus: Bus;
  #ended = false;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** From now on nothing is written: every write rejects with NotLeading. */
  end(): void {
    this.#ended = true;
  }

  async create<T extends KubeObject, D extends Draft>(cache: Informer<T>, object: D): Promise<T> {
    return this.#write(cache, 'create', object);
  }

  /** The whole object without its status. Conflicts (409) when its resourceVersion is not the current one. */
  async update<T extends KubeObject, D extends Draft>(cache: Informer<T>, object: D): Promise<T> {
    return this.#write(cache, 'update', object);
  }

  /** Only the status of this very object (same uid), whatever else has changed meanwhile (`exact`: unless anything has, 409); no write when it is so already. */
  async updateStatus<T extends KubeObject>(cache: Informer<T>, object: T, status: unknown, { exact = false } = {}): Promise<T> {
    if (isDeepStrictEqual(counted(object.status), counted(status))) return object;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const draft = { apiVersion: object.apiVersion, kind: object.kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, ...(exact ? { resourceVersion } : {}) }, spec: object.spec, status };
    return this.#write(cache, 'updateStatus', draft);
  }

  /** Asks for the end of this very object (same uid). False: it was gone already, another has its name, or it is not in the wanted state. */
  async delete<T extends KubeObject>(cache: Informer<T>, { metadata: { namespace, name, uid } }: T, { resourceVersion, ...how }: Deletion = {}): Promise<boolean> {
    try {
      const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      const { object } = await this.#request({ operation: 'delete', resource: cache.resource, ...(namespace === undefined ? {} : { namespace }), name, preconditions, ...how });
      const stored = object as unknown as T;
      // What is gone at once has no such time; nobody is to count on it in the meantime.
      cache.observe({ ...stored, metadata: { ...stored.metadata, deletionTimestamp: stored.metadata.deletionTimestamp ?? wholeSeconds(Date.now()) } });
      return true;
    } catch (error) {
      if (error instanceof ServiceError && (error.code === 404 || error.code === 409)) return false;
      throw error;
    }
  }

  async #write<T extends KubeObject>(cache: Informer<T>, operation: 'create' | 'update' | 'updateStatus', object: Draft): Promise<T> {
    const { name, namespace } = object.metadata;
    const reply = await this.#request({
      operation,
      resource: cache.resource,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      object: object as unknown as Record<string, unknown>,
    });
    const stored = reply.object as unknown as T;
    cache.observe(stored);
    return stored;
  }

  async #request(write: Write): Promise<{ object: unknown }> {
    if (this.#ended) throw new NotLeading();
    return this.#bus.request(messages.write, {}, { ...write, user });
  }
}

/** A status as it is compared: counters of nothing are stored for some kinds and left out for others, and say the same. */
function counted(status: unknown): unknown {
  if (typeof status !== 'object' || status === null) return status;
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}
