import type { KubeObject } from './meta.ts';

export type EventType = 'Normal' | 'Warning';
/** What events are about. */
export type Involved = Pick<KubeObject, 'apiVersion' | 'kind'> & { readonly metadata: Pick<KubeObject['metadata'], 'name' | 'namespace' | 'uid'> & { readonly resourceVersion?: string } };

/** core/v1 Event, as far as it is written here. */
export interface EventObject {
  apiVersion: 'v1';
  kind: 'Event';
  metadata: Partial<KubeObject['metadata']> & { name: string; namespace: string };
  involvedObject: { apiVersion: string; kind: string; name: string; namespace?: string; uid: string; resourceVersion?: string; fieldPath?: string };
  reason: string;
  message: string;
  type: EventType;
  source: { component: string; host?: string };
  reportingComponent: string;
  reportingInstance?: string;
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
}

export interface EventParts {
  readonly name: string;
  readonly about: Involved;
  /** The part of the object: `spec.containers{web}`. */
  readonly fieldPath?: string;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  /** Node on which it was seen. */
  readonly host?: string;
  /** Milliseconds since the epoch. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

/** Kubernetes' limit for the message. */
const messageLimit = 1024;
/** Of the object's name, leaving room for the rest. */
const nameLimit = 180;

const wholeSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Events of cluster-scoped objects are in `default`. */
export function eventObject({ name, about: { apiVersion, kind, metadata }, fieldPath, type, reason, message, component, host, firstMs, lastMs, count }: EventParts): EventObject {
  const { namespace, resourceVersion } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: namespace ?? 'default' },
    involvedObject: {
      apiVersion,
      kind,
      name: metadata.name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: metadata.uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(fieldPath === undefined ? {} : { fieldPath }),
    },
    reason,
    message: message.slice(0, messageLimit),
    type,
    source: { component, ...(host === undefined ? {} : { host }) },
    reportingComponent: component,
    ...(host === undefined ? {} : { reportingInstance: host }),
    firstTimestamp: wholeSeconds(firstMs),
    lastTimestamp: wholeSeconds(lastMs),
    count,
  };
}

/** A valid name for an event about an object of this name; `suffix` tells events about it apart. */
export const eventName = (object: string, suffix: string): string => `${object.slice(0, nameLimit).replace(/[^a-z0-9]+$/, '')}.${suffix}`;

/** The stored event after it happened `times` more. */
export const eventAgain = (stored: EventObject, message: string, times: number, lastMs: number): EventObject => ({
  ...stored,
  message: message.slice(0, messageLimit),
  lastTimestamp: wholeSeconds(lastMs),
  count: (stored.count ?? 0) + times,
});

/** Different messages of one reason about one object that are told one by one; further ones are told as one event. */
const similarLimit = 10;
const similarWindowMs = 600_000;
const combinedPrefix = '(combined from similar events)';

/** Sees to it that many similar messages become one event, as Kubernetes' correlator does. Remembers `limit` objects and reasons. */
export class SimilarEvents {
  readonly #limit: number;
  readonly #groups = new Map<string, { lastMs: number; messages: Set<string> }>();

  constructor(limit = 4_096) {
    this.#limit = limit;
  }

  /** What is told, and by what it is recognised as the same again. */
  combine(uid: string, reason: string, message: string, nowMs: number): { readonly key: string; readonly message: string } {
    const about = `${uid}/${reason}`;
    const known = this.#groups.get(about);
    const group = known !== undefined && nowMs - known.lastMs < similarWindowMs ? known : { lastMs: nowMs, messages: new Set<string>() };
    group.lastMs = nowMs;
    // To the end: the first ones are those that were used longest ago.
    this.#groups.delete(about);
    this.#groups.set(about, group);
    for (const oldest of this.#groups.keys()) {
      if (this.#groups.size <= this.#limit) break;
      this.#groups.delete(oldest);
    }
    if (!group.messages.has(message) && group.messages.size >= similarLimit) return { key: combinedPrefix, message: `${combinedPrefix}: ${message}` };
    group.messages.add(message);
    return { key: message, message };
  }
}
