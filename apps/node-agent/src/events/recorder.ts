import { eventName, eventObject, type EventType, type Pod } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';

/** Tells what happens to the pods of one node as core/v1 Events, in the kubelet's reasons and words. */
export interface PodEvents {
  /** `container` names one of the pod's containers when it is about that. */
  record(pod: Pod, type: EventType, reason: string, message: string, container?: string): void;
}

export interface RecorderOptions {
  readonly node: string;
  /** Creates the event, or replaces the one of its name. */
  readonly send: (event: Record<string, unknown>) => Promise<void>;
  /** An event was refused and is lost, or nobody takes any now. */
  readonly onError: (error: unknown) => void;
  readonly now?: () => number;
}

/** Of one pod at most so many at once, then one every five minutes, as the kubelet's filter against floods does. */
const burst = 25;
const refillEveryMs = 300_000;
/** Kinds of event whose counts are remembered, and events that wait to be sent. */
const remembered = 4096;
const longestQueue = 2048;
/** While nobody takes them. */
const sendAgainMs = 1_000;

interface Told {
  readonly name: string;
  readonly first: number;
  count: number;
}

/** Counts what happens again: one event per kind, sent anew with its count. */
export class EventRecorder implements PodEvents {
  readonly #options: RecorderOptions;
  readonly #now: () => number;
  readonly #told = new Map<string, Told>();
  readonly #budgets = new Map<string, { left: number; at: number }>();
  /** By name: a count that was not sent yet is overtaken by the next. */
  readonly #queue = new Map<string, Record<string, unknown>>();
  #sending: Promise<void> | undefined;
  #last = 0;
  #stopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  record(pod: Pod, type: EventType, reason: string, message: string, container?: string): void {
    const now = this.#now();
    if (this.#stopped || !this.#affords(pod.metadata.uid, now)) return;
    const key = JSON.stringify([pod.metadata.uid, container, type, reason, message]);
    const told = this.#told.get(key) ?? { name: this.#nameFor(pod.metadata.name, now), first: now, count: 0 };
    told.count += 1;
    this.#told.delete(key);
    this.#told.set(key, told);
    trim(this.#told, remembered);
    const event = eventObject({
      name: told.name, about: pod, type, reason, message, component: 'kubelet', host: this.#options.node, firstMs: told.first, lastMs: now, count: told.count,
      ...(container === undefined ? {} : { fieldPath: fieldPath(pod, container) }),
    });
    this.#queue.set(told.name, event as unknown as Record<string, unknown>);
    trim(this.#queue, longestQueue);
    this.#sending ??= this.#send();
  }

  /** Resolves when nothing waits to be sent. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /** What still waits is lost. */
  stop(): void {
    this.#stopped = true;
  }

  /** One after the other, in their order; what is not taken waits, so that a restart of intake loses none. */
  async #send(): Promise<void> {
    await Promise.resolve();
    let isAway = false;
    for (let next = this.#queue.entries().next(); next.done !== true && !this.#stopped; next = this.#queue.entries().next()) {
      const [name, event] = next.value;
      try {
        await this.#options.send(event);
        isAway = false;
      } catch (error) {
        const isRefused = error instanceof ServiceError && error.code < 500;
        if (isRefused || !isAway) this.#options.onError(error);
        isAway = !isRefused;
        if (isAway) {
          await new Promise((resolve) => setTimeout(resolve, sendAgainMs).unref());
          continue;
        }
      }
      // Its count may have grown meanwhile.
      if (this.#queue.get(name) === event) this.#queue.delete(name);
    }
    this.#sending = undefined;
  }

  #affords(uid: string, now: number): boolean {
    const budget = this.#budgets.get(uid) ?? { left: burst, at: now };
    const refilled = Math.floor((now - budget.at) / refillEveryMs);
    const left = Math.min(burst, budget.left + refilled);
    this.#budgets.delete(uid);
    this.#budgets.set(uid, { left: Math.max(0, left - 1), at: budget.at + refilled * refillEveryMs });
    trim(this.#budgets, remembered);
    return left > 0;
  }

  /** As Kubernetes names them: object and time in hexadecimal nanoseconds; never twice the same. */
  #nameFor(object: string, now: number): string {
    this.#last = Math.max(this.#last + 1, now * 1000);
    return eventName(object, (BigInt(this.#last) * 1000n).toString(16));
  }
}

function fieldPath({ spec }: Pod, container: string): string {
  const init = (spec.initContainers ?? []).some(({ name }) => name === container);
  return `spec.${init ? 'initContainers' : 'containers'}{${container}}`;
}

/** Drops the oldest. */
function trim(map: Map<string, unknown>, size: number): void {
  for (const key of map.keys()) {
    if (map.size <= size) return;
    map.delete(key);
  }
}
