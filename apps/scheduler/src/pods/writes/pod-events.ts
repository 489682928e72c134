import { createHash } from 'node:crypto';
import type { KubeObject, Pod } from '@roundsman/api';
import { messages, ServiceError, serviceUser, type Bus, type WireObject } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { PodCaches } from '../caches.ts';

const component = 'default-scheduler';
const nameLimit = 180;
const messageLimit = 1024;
const timeoutMs = 3_000;
/** The same is written again at most so often; what happens in between counts then. */
const againMs = 60_000;
const concurrency = 8;
/** Events that are remembered (the oldest are forgotten first), and that wait to be written (what is beyond is dropped). */
const rememberedLimit = 10_000;

interface Told {
  /** How often it happened that is not written yet. */
  unwritten: number;
  writtenMs: number;
  firstTimestamp: string;
  count: number;
}
interface EventKey {
  readonly namespace: string;
  readonly name: string;
}
type Body = Record<string, unknown> & { readonly metadata: EventKey };

/** Tells people what happens to pods, in the background: pods are placed also when their events cannot be written. The same of the same pod is one Event that counts. */
export class PodEvents {
  readonly #bus: Bus;
  readonly #reader: PodCaches['reader'];
  readonly #log: Pick<Logger, 'warn' | 'debug'>;
  readonly #told = new Map<string, Told>();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #running = new Set<Promise<void>>();
  #stopping = false;

  constructor(bus: Bus, reader: PodCaches['reader'], log: Pick<Logger, 'warn' | 'debug'>) {
    this.#bus = bus;
    this.#reader = reader;
    this.#log = log;
  }

  tell(pod: Pod, type: 'Normal' | 'Warning', reason: string, text: string): void {
    const nowMs = Date.now();
    const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
    const message = text.slice(0, messageLimit);
    const body = eventBody(pod, type, reason, message);
    const key = body.metadata.name;
    const told = this.#told.get(key) ?? { unwritten: 0, writtenMs: 0, firstTimestamp: now, count: 0 };
    this.#told.delete(key);
    this.#told.set(key, told);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= rememberedLimit) break;
      this.#told.delete(oldest);
    }
    told.unwritten += 1;
    if (nowMs - told.writtenMs < againMs) return;
    if (this.#waiting.length >= rememberedLimit) {
      this.#log.warn({ reason, message, waiting: this.#waiting.length }, 'too many events wait to be written; one is dropped');
      return;
    }
    told.writtenMs = nowMs;
    this.#waiting.push(() => this.#write(body, told, now));
    this.#pump();
  }

  /** Resolves when all that waits is written, or given up since one cannot be. */
  async stop(): Promise<void> {
    this.#stopping = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #pump(): void {
    while (this.#running.size < concurrency) {
      const write = this.#waiting.shift();
      if (write === undefined) return;
      const running = write().finally(() => {
        this.#running.delete(running);
        this.#pump();
      });
      this.#running.add(running);
    }
  }

  async #write(body: Body, told: Told, now: string): Promise<void> {
    const unwritten = told.unwritten;
    told.unwritten = 0;
    try {
      if (told.count === 0) await this.#create(body, told, unwritten, now);
      else await this.#update(body, told, unwritten, now);
    } catch (error) {
      told.unwritten += unwritten;
      if (this.#stopping) this.#waiting.length = 0;
      // Its namespace ends: there is nobody left to be told.
      const nobody = error instanceof ServiceError && (error.code === 403 || error.code === 404);
      this.#log[nobody ? 'debug' : 'warn']({ err: error, event: body.metadata.name, message: body['message'] }, 'an event could not be written');
    }
  }

  async #create(body: Body, told: Told, times: number, now: string): Promise<void> {
    try {
      await this.#send('create', { ...body, firstTimestamp: told.firstTimestamp, lastTimestamp: now, count: times });
      told.count = times;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 409)) throw error;
      // Whoever led before told it already.
      const { namespace, name } = body.metadata;
      const stored = (await this.#reader.get('events', namespace, name)) as (KubeObject & { firstTimestamp?: string; count?: number }) | undefined;
      told.firstTimestamp = stored?.firstTimestamp ?? told.firstTimestamp;
      told.count = stored?.count ?? 0;
      await this.#update(body, told, times, now);
    }
  }

  async #update(body: Body, told: Told, times: number, now: string): Promise<void> {
    const event = { ...body, firstTimestamp: told.firstTimestamp, lastTimestamp: now, count: told.count + times };
    try {
      await this.#send('update', event);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 404)) throw error;
      // It was old, and is gone.
      await this.#send('create', event);
    }
    told.count += times;
  }

  async #send(operation: 'create' | 'update', event: Body): Promise<WireObject> {
    const { namespace, name } = event.metadata;
    return (await this.#bus.request(messages.write, {}, { operation, resource: 'events', namespace, name, object: event, user: serviceUser('scheduler') }, { timeoutMs })).object;
  }
}

function eventBody({ apiVersion, kind, metadata }: Pod, type: string, reason: string, message: string): Body {
  const { name, namespace = 'default', uid, resourceVersion } = metadata;
  const hash = createHash('sha256').update([component, uid, type, reason, message].join('\0')).digest('hex').slice(0, 16);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, nameLimit).replace(/[^a-z0-9]+$/, '')}.${hash}`, namespace },
    involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
    reason,
    message,
    type,
    source: { component },
    reportingComponent: component,
  };
}
