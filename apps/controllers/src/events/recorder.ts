import { createHash } from 'node:crypto';
import type { KubeObject } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { Objects } from '../objects.ts';
import { wholeSeconds } from '../timestamps.ts';
import { nameLimit, type EventObject } from './event.ts';

/** What events are about. */
export type Involved = Pick<KubeObject, 'apiVersion' | 'kind'> & { readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace' | 'uid'> };
export type Happening = readonly [type: EventObject['type'], reason: string, message: string];
/** Tells people that something happened, in the background: a cluster works on when its events cannot be written. */
export type Tell = (object: Involved, ...happening: Happening) => void;

interface Pending {
  readonly event: EventObject;
  /** Occurrences that are not written yet. */
  count: number;
}

/** Different messages of one reason about one object that are told one by one; what comes after is told as one event. */
const similarLimit = 10;
const similarWindowMs = 600_000;
/** Events that wait; beyond it they are dropped, and the log says so. */
const waitingLimit = 1_000;
const concurrency = 4;

/** Writes core/v1 Events: the same message of the same reason about the same object is one Event that counts. */
export class Recorder {
  readonly #events: Informer;
  readonly #objects: Objects;
  readonly #log: Pick<Logger, 'warn' | 'debug'>;
  readonly #waiting = new Map<string, Pending>();
  readonly #similar = new Map<string, { untilMs: number; messages: Set<string> }>();
  #running = 0;
  #ended = false;
  #idle: (() => void)[] = [];

  constructor(events: Informer, objects: Objects, log: Pick<Logger, 'warn' | 'debug'>) {
    this.#events = events;
    this.#objects = objects;
    this.#log = log;
  }

  /** For the events of one controller: `deployment-controller`. */
  from(component: string): Tell {
    return (object, type, reason, message) => this.#tell(component, object, type, reason, message);
  }

  /** What is told from now on is not written: another leads. */
  end(): void {
    this.#ended = true;
  }

  /** Resolves when everything told so far is written or given up, at the latest after so many milliseconds. */
  async flushed(withinMs = 2_000): Promise<void> {
    if (this.#running === 0 && this.#waiting.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#idle.push(resolve);
    await promise;
    clearTimeout(timer);
  }

  #tell(component: string, object: Involved, type: EventObject['type'], reason: string, text: string): void {
    if (this.#ended) return;
    const nowMs = Date.now();
    const event = eventOf(component, object, type, reason, this.#combined(object.metadata.uid, reason, text, nowMs), nowMs);
    const pending = this.#waiting.get(event.metadata.name);
    if (pending === undefined && this.#waiting.size >= waitingLimit) {
      this.#log.warn({ reason, message: text, waiting: this.#waiting.size }, 'too many events wait to be written; one is dropped');
      return;
    }
    this.#waiting.set(event.metadata.name, { event, count: (pending?.count ?? 0) + 1 });
    this.#pump();
  }

  /** The message, or what stands for all further ones of this reason. */
  #combined(uid: string, reason: string, text: string, nowMs: number): { key: string; text: string } {
    const about = `${uid}/${reason}`;
    const known = this.#similar.get(about);
    const similar = known !== undefined && known.untilMs > nowMs ? known : { untilMs: 0, messages: new Set<string>() };
    similar.untilMs = nowMs + similarWindowMs;
    // Moved to the end: the first entries are those that were used longest ago.
    this.#similar.delete(about);
    this.#similar.set(about, similar);
    for (const [key, { untilMs }] of this.#similar) {
      if (untilMs > nowMs && this.#similar.size <= waitingLimit) break;
      this.#similar.delete(key);
    }
    if (!similar.messages.has(text) && similar.messages.size >= similarLimit) return { key: '(combined from similar events)', text: `(combined from similar events): ${text}` };
    similar.messages.add(text);
    return { key: text, text };
  }

  #pump(): void {
    for (const [name, pending] of this.#waiting) {
      if (this.#running >= concurrency) return;
      this.#waiting.delete(name);
      this.#running += 1;
      void this.#write(pending).finally(() => {
        this.#running -= 1;
        this.#pump();
        if (this.#running === 0 && this.#waiting.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
    }
  }

  async #write({ event, count }: Pending): Promise<void> {
    const known = this.#events.get(event.metadata.namespace, event.metadata.name) as unknown as EventObject | undefined;
    try {
      if (known === undefined) await this.#objects.create(this.#events, { ...event, count });
      else await this.#objects.update(this.#events, { ...known, message: event.message, lastTimestamp: event.lastTimestamp, count: known.count + count });
    } catch (error) {
      // Its namespace ends, or it was too old and is gone: there is nobody left to be told.
      const nobody = error instanceof ServiceError && (error.code === 403 || error.code === 404);
      this.#log[nobody ? 'debug' : 'warn']({ err: error, reason: event.reason, message: event.message }, 'an event could not be written');
    }
  }
}

function eventOf(component: string, { apiVersion, kind, metadata: { name, namespace, uid } }: Involved, type: EventObject['type'], reason: string, message: { key: string; text: string }, nowMs: number): EventObject {
  const at = wholeSeconds(nowMs);
  const hash = createHash('sha256').update([component, uid, type, reason, message.key].join('\0')).digest('hex').slice(0, 16);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, nameLimit).replace(/[^a-z0-9]+$/, '')}.${hash}`, namespace: namespace ?? 'default' },
    involvedObject: { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }), uid },
    reason,
    message: message.text.slice(0, 1024),
    type,
    source: { component },
    reportingComponent: component,
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}
