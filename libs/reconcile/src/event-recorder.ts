import { createHash } from 'node:crypto';
import { eventAgain, eventName, eventObject, SimilarEvents, type EventObject, type EventType, type Involved, type KubeObject } from '@roundsman/api';
import { messages, ServiceError, type Bus } from '@roundsman/bus';
import { systemClock, type Clock } from './clock.ts';

/** What happened: one word why, and in words. */
export type Happening = readonly [type: EventType, reason: string, message: string];
/** Tells people that something happened, in the background: work goes on when its events cannot be written. */
export type Tell = (object: Involved, ...happening: Happening) => void;

export interface EventRecorderOptions {
  readonly bus: Pick<Bus, 'request'>;
  /** In whose name events are written: `system:roundsman:scheduler`. */
  readonly user: string;
  /** The stored object, for an event that was told before this process began. */
  readonly read: (resource: string, namespace: string | undefined, name: string) => Promise<KubeObject | undefined>;
  readonly log: { warn(fields: object, message: string): void; debug(fields: object, message: string): void };
  /** The same is written again at most so often, milliseconds (default 0); what happens in between counts then. */
  readonly againMs?: number;
  readonly clock?: Clock;
}

/** One kind of event: the same message of the same reason about the same object. */
interface Told {
  readonly first: EventObject;
  message: string;
  lastMs: number;
  /** Occurrences that are not written yet. */
  unwritten: number;
  writtenMs: number;
  /** As last written. */
  stored: EventObject | undefined;
  state: 'idle' | 'waiting' | 'writing';
  /** Writes that failed in a row. */
  failures: number;
  cancel: (() => void) | undefined;
}

const timeoutMs = 3_000;
const concurrency = 8;
/** Events that wait to be written; what is beyond is dropped, and the log says so. */
const waitingLimit = 1_000;
/** Kinds of events that are remembered; the oldest are forgotten first. */
const rememberedLimit = 4_096;
/** A write without an answer is tried again after 1, 2, 4 and 8 s: an intake is replaced in less. */
const retryMs = 1_000;
const retries = 4;

/** Writes core/v1 Events: the same told again is one Event that counts, one write of it at a time, whatever instance told it before. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #similar = new SimilarEvents(rememberedLimit);
  /** By namespace and name of the event. */
  readonly #told = new Map<string, Told>();
  readonly #waiting: Told[] = [];
  #writing = 0;
  #ended = false;
  #idle: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** For the events of one controller: `deployment-controller`. */
  from(component: string): Tell {
    return (object, type, reason, message) => this.#tell(component, object, type, reason, message);
  }

  /** What is told from now on is not written: another leads. */
  end(): void {
    this.#ended = true;
    for (const { cancel } of this.#told.values()) cancel?.();
  }

  /** Resolves when everything told so far is written or given up, at the latest after so many milliseconds. */
  async flushed(withinMs = 2_000): Promise<void> {
    if (this.#writing + this.#waiting.length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    this.#idle.push(resolve);
    await promise;
    clearTimeout(timer);
  }

  #tell(component: string, about: Involved, type: EventType, reason: string, text: string): void {
    if (this.#ended) return;
    const nowMs = this.#clock.now();
    const { key, message } = this.#similar.combine(about.metadata.uid, reason, text, nowMs);
    const digest = createHash('sha256').update([component, about.metadata.uid, type, reason, key].join('\0')).digest('hex').slice(0, 16);
    const name = eventName(about.metadata.name, digest);
    const place = `${about.metadata.namespace ?? ''}/${name}`;
    const told = this.#told.get(place) ?? {
      first: eventObject({ name, about, type, reason, message, component, firstMs: nowMs, lastMs: nowMs, count: 1 }),
      message, lastMs: nowMs, unwritten: 0, writtenMs: -Infinity, stored: undefined, state: 'idle', failures: 0, cancel: undefined,
    };
    this.#remember(place, told);
    told.message = message;
    told.lastMs = nowMs;
    told.unwritten += 1;
    if (told.cancel === undefined && !this.#isQuiet(told)) this.#queue(told);
  }

  #remember(place: string, told: Told): void {
    this.#told.delete(place);
    this.#told.set(place, told);
    for (const [oldest, { cancel }] of this.#told) {
      if (this.#told.size <= rememberedLimit) break;
      cancel?.();
      this.#told.delete(oldest);
    }
  }

  /** It was written just now: more of the same is no news. */
  #isQuiet({ writtenMs }: Told): boolean {
    const sinceMs = this.#clock.now() - writtenMs;
    return sinceMs >= 0 && sinceMs < (this.#options.againMs ?? 0);
  }

  #queue(told: Told): void {
    if (told.state !== 'idle') return;
    if (this.#waiting.length >= waitingLimit) {
      this.#options.log.warn({ reason: told.first.reason, message: told.message, waiting: this.#waiting.length }, 'too many events wait to be written; one is dropped');
      return;
    }
    told.state = 'waiting';
    this.#waiting.push(told);
    this.#pump();
  }

  #pump(): void {
    while (this.#writing < concurrency) {
      const told = this.#waiting.shift();
      if (told === undefined) break;
      told.state = 'writing';
      this.#writing += 1;
      void this.#write(told).then((written) => {
        told.state = 'idle';
        this.#writing -= 1;
        if (written && told.unwritten > 0 && !this.#isQuiet(told)) this.#queue(told);
        this.#pump();
      });
    }
    if (this.#writing + this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** False when it was not written: it is tried again later, or when it is told again. Never rejects. */
  async #write(told: Told): Promise<boolean> {
    const times = told.unwritten;
    told.unwritten = 0;
    try {
      told.stored = await this.#store(told, times);
      told.writtenMs = this.#clock.now();
      told.failures = 0;
      return true;
    } catch (error) {
      told.unwritten += times;
      told.failures += 1;
      const isRefused = error instanceof ServiceError && error.code < 500;
      if (!isRefused && told.failures <= retries && !this.#ended) this.#later(told);
      else {
        told.failures = 0;
        // Its namespace ends: there is nobody left to be told.
        const nobody = isRefused && (error.code === 403 || error.code === 404);
        this.#options.log[nobody ? 'debug' : 'warn']({ err: error, reason: told.first.reason, message: told.message }, 'an event could not be written');
      }
      return false;
    }
  }

  #later(told: Told): void {
    told.cancel = this.#clock.after(retryMs * 2 ** (told.failures - 1), () => {
      told.cancel = undefined;
      this.#queue(told);
    });
  }

  async #store(told: Told, times: number): Promise<EventObject> {
    const { first, message, lastMs } = told;
    const fresh = { ...eventAgain(first, message, times, lastMs), count: times };
    const { namespace, name } = first.metadata;
    let stored = told.stored;
    if (stored === undefined) {
      try {
        return await this.#send('create', fresh);
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 409)) throw error;
        // Told before this process began, or by a write whose answer was lost.
        stored = (await this.#options.read('events', namespace, name)) as unknown as EventObject | undefined;
      }
    }
    try {
      const { resourceVersion: _version, uid: _uid, ...metadata } = stored?.metadata ?? first.metadata;
      return await this.#send('update', eventAgain({ ...(stored ?? fresh), metadata, count: stored?.count ?? 0 }, message, times, lastMs));
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 404)) throw error;
      // It was old, and is gone.
      return this.#send('create', { ...fresh, firstTimestamp: fresh.lastTimestamp });
    }
  }

  async #send(operation: 'create' | 'update', event: EventObject): Promise<EventObject> {
    const { namespace, name } = event.metadata;
    const { object } = await this.#options.bus.request(messages.write, {}, { operation, resource: 'events', namespace, name, object: event as unknown as Record<string, unknown>, user: this.#options.user }, { timeoutMs });
    return object as unknown as EventObject;
  }
}
