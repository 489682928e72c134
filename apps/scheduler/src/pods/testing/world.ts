import type { KubeObject, Pod } from '@roundsman/api';
import { ServiceError, type Bus, type Change, type Write } from '@roundsman/bus';
import { Informer, type Indexes, type ObjectSource } from '@roundsman/reconcile';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { PodCaches } from '../caches.ts';
import { leadPods } from '../lead.ts';
import { PodMetrics } from '../metrics.ts';

type Follower = { readonly resource?: string; readonly change: (change: Change) => void };

/** Objects in memory, an intake that writes them, and the scheduler of pods on top. */
export class World {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: Write[] = [];
  readonly registry = new Registry();
  /** Says no to a write, or lets it wait; asked before it is done. */
  before: (write: Write) => Promise<void> | void = () => undefined;
  /** Whether the caches hear of changes. */
  deaf = false;
  /** When the caches hold what was committed before. */
  reached = async (_version: number): Promise<void> => undefined;
  /** Of the term. */
  readonly over = new AbortController();
  readonly #followers: Follower[] = [];
  readonly #ends: (() => unknown)[] = [];
  readonly #informers: Informer[] = [];
  #version = 0;

  async start(): Promise<void> {
    const source: ObjectSource = {
      list: async (resource) => ({ version: this.#version, items: [...this.objects].flatMap(([key, object]) => (key.startsWith(`${resource} `) ? [object] : [])) }),
      changes: async () => ({ head: this.#version, changes: [], more: false }),
    };
    const feed = {
      follow: (follower: Follower) => {
        this.#followers.push(follower);
        return { position: 0, stop: () => undefined };
      },
    };
    const caches = new PodCaches(
      { get: async (resource, namespace, name) => this.objects.get(`${resource} ${namespace ?? ''}/${name}`), head: async () => this.#version },
      {
        informer: (resource, labels = [], indexes = {}) => {
          const informer = new Informer({ source, feed: feed as never, resource, labels, indexes: indexes as Indexes<KubeObject> });
          this.#informers.push(informer);
          return informer as never;
        },
      },
    );
    await Promise.all(this.#informers.map((informer) => informer.start()));
    const bus = { request: (_: unknown, __: unknown, write: Write) => this.#write(write) } as unknown as Bus;
    await leadPods({ bus, caches, replica: { reached: this.reached }, metrics: new PodMetrics(this.registry), log: pino({ level: 'silent' }) }, (end) => this.#ends.push(end), this.over.signal);
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  /** An object as it is now, told to whoever listens. */
  put(resource: string, object: KubeObject): KubeObject {
    return this.#commit(resource, object, this.objects.has(keyOf(resource, object)) ? 'MODIFIED' : 'ADDED');
  }

  remove(resource: string, object: KubeObject): void {
    this.#commit(resource, object, 'DELETED');
  }

  pod(name: string): Pod {
    return this.objects.get(`pods default/${name}`) as Pod;
  }

  #commit(resource: string, object: KubeObject, type: Change['type']): KubeObject {
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const key = keyOf(resource, object);
    if (type === 'DELETED') this.objects.delete(key);
    else this.objects.set(key, stored);
    const { namespace = '', name, uid } = stored.metadata;
    if (!this.deaf) for (const follower of this.#followers) if (follower.resource === resource) follower.change({ type, version, previous: 0, previousOfResource: 0, resource, namespace, name, uid, object: stored as unknown as Change['object'] });
    return stored;
  }

  async #write(write: Write): ReturnType<Bus['request']> {
    this.writes.push(write);
    await this.before(write);
    const { operation, resource, namespace = '', name = '', node } = write;
    const reply = (object: KubeObject) => ({ object, warnings: [] });
    if (operation === 'create') return reply(this.put(resource, { ...(write.object as unknown as KubeObject), metadata: { uid: crypto.randomUUID(), ...(write.object?.['metadata'] as object) } as KubeObject['metadata'] }));
    const old = this.objects.get(`${resource} ${namespace}/${name}`) as Pod | undefined;
    if (old === undefined) throw new ServiceError(404, `${resource} "${name}" not found`);
    if (write.preconditions?.uid !== undefined && write.preconditions.uid !== old.metadata.uid) throw new ServiceError(409, 'another uid');
    const version = (write.object?.['metadata'] as { resourceVersion?: string } | undefined)?.resourceVersion;
    if (version !== undefined && version !== old.metadata.resourceVersion) throw new ServiceError(409, 'the object has been modified');
    if (operation === 'bind') {
      if (old.spec.nodeName !== undefined) throw new ServiceError(409, `pod ${name} is already assigned to node "${old.spec.nodeName}"`);
      return reply(this.put(resource, { ...old, spec: { ...old.spec, nodeName: node } }));
    }
    if (operation === 'updateStatus') return reply(this.put(resource, { ...old, status: write.object?.['status'] }));
    if (operation === 'delete') return reply(this.put(resource, { ...old, metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 } }));
    return reply(this.put(resource, { ...old, ...(write.object as object) }));
  }
}

const keyOf = (resource: string, { metadata }: KubeObject): string => `${resource} ${metadata.namespace ?? ''}/${metadata.name}`;
