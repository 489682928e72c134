import { isDeepStrictEqual } from 'node:util';
import { systemClock, type Clock } from '@roundsman/reconcile';
import type { PodInfo } from '../cluster/pod-info.ts';
import type { Happening } from '../filters/filter.ts';

export interface QueueOptions {
  readonly clock?: Clock;
  /** A pod that could not be placed is tried again after so long at the latest, milliseconds. */
  readonly latestMs?: number;
  /** After the n-th failure it rests for min(maxMs, baseMs * 2^(n-1)) at least. */
  readonly backOff?: { readonly baseMs: number; readonly maxMs: number };
  /** There is something to take. */
  readonly onReady: () => void;
}

/** A pod that is to be placed. */
export interface QueuedPod {
  readonly pod: PodInfo;
  /** How often it was tried. */
  readonly attempts: number;
  /** Since when it has waited, milliseconds. */
  readonly sinceMs: number;
}

interface Entry {
  pod: PodInfo;
  attempts: number;
  readonly sequence: number;
  readonly sinceMs: number;
  /** ready: to be taken; resting: tried and refused; out: taken, and not yet given back. */
  state: 'ready' | 'resting' | 'out';
  helpedBy: ReadonlySet<Happening>;
  notBeforeMs: number;
  /** Something happened that may help. */
  helped: boolean;
  cancel: (() => void) | undefined;
}

/**
 * Pods without a node: the most important first, then the oldest. One that could not be placed rests until something happens that
 * may help it, no shorter than its back-off and no longer than `latestMs`.
 */
export class SchedulingQueue {
  readonly #options: Required<QueueOptions>;
  readonly #entries = new Map<string, Entry>();
  /** In reverse order: the next is the last. */
  readonly #ready: Entry[] = [];
  #sequence = 0;

  constructor(options: QueueOptions) {
    this.#options = { clock: systemClock, latestMs: 15_000, backOff: { baseMs: 1_000, maxMs: 10_000 }, ...options };
  }

  /** How many are in each state. */
  counts(): Record<Entry['state'], number> {
    const counts = { ready: 0, resting: 0, out: 0 };
    for (const { state } of this.#entries.values()) counts[state] += 1;
    return counts;
  }

  get(uid: string): PodInfo | undefined {
    return this.#entries.get(uid)?.pod;
  }

  /** A pod is new, or has changed: when what it asks for has, it is tried again. */
  put(pod: PodInfo): void {
    const known = this.#entries.get(pod.uid);
    if (known === undefined) {
      const entry: Entry = { pod, attempts: 0, sequence: this.#sequence++, sinceMs: this.#options.clock.now(), state: 'out', helpedBy: new Set(), notBeforeMs: 0, helped: false, cancel: undefined };
      this.#entries.set(pod.uid, entry);
      this.#makeReady(entry);
      return;
    }
    const asksOther = known.pod.class.key !== pod.class.key || !isDeepStrictEqual(known.pod.pod.spec, pod.pod.spec);
    if (known.state === 'ready' && asksOther) {
      this.#unready(known);
      known.pod = pod;
      this.#makeReady(known);
      return;
    }
    known.pod = pod;
    if (known.state === 'resting' && asksOther) this.#makeReady(known);
    if (known.state === 'out' && asksOther) known.helped = true;
  }

  remove(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    this.#entries.delete(uid);
    entry.cancel?.();
    if (entry.state === 'ready') this.#unready(entry);
  }

  /** The next pod; it stays known until it is put back (`rest`) or removed. */
  take(): QueuedPod | undefined {
    const entry = this.#ready.pop();
    if (entry === undefined) return undefined;
    entry.state = 'out';
    entry.attempts += 1;
    entry.helped = false;
    return entry;
  }

  /** A pod that was taken could not be placed; `helpedBy`: what may change that. Without it, it is tried again after its back-off. */
  rest(uid: string, helpedBy?: ReadonlySet<Happening>): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined || entry.state !== 'out') return;
    const { clock, backOff } = this.#options;
    entry.state = 'resting';
    entry.helpedBy = helpedBy ?? new Set();
    entry.notBeforeMs = clock.now() + Math.min(backOff.maxMs, backOff.baseMs * 2 ** Math.min(entry.attempts - 1, 30));
    if (helpedBy === undefined) entry.helped = true;
    this.#arm(entry);
  }

  /** Whoever may be helped by this is tried again. */
  happened(happening: Happening): void {
    for (const entry of this.#entries.values()) {
      if (entry.helped || entry.state === 'ready') continue;
      // Whether it helps one that is out is not known yet.
      if (entry.state === 'out') entry.helped = true;
      else if (entry.helpedBy.has(happening)) {
        entry.helped = true;
        this.#arm(entry);
      }
    }
  }

  /** Nothing is told any more. */
  stop(): void {
    for (const { cancel } of this.#entries.values()) cancel?.();
    this.#entries.clear();
    this.#ready.length = 0;
  }

  #arm(entry: Entry): void {
    const { clock, latestMs } = this.#options;
    entry.cancel?.();
    const now = clock.now();
    if (entry.helped && entry.notBeforeMs <= now) {
      this.#makeReady(entry);
      return;
    }
    const waitMs = entry.helped ? entry.notBeforeMs - now : latestMs;
    entry.cancel = clock.after(waitMs, () => this.#makeReady(entry));
  }

  #makeReady(entry: Entry): void {
    entry.cancel?.();
    entry.cancel = undefined;
    entry.state = 'ready';
    this.#ready.splice(this.#placeOf(entry), 0, entry);
    this.#options.onReady();
  }

  #unready(entry: Entry): void {
    this.#ready.splice(this.#placeOf(entry), 1);
  }

  /** Where it is, or belongs, among those that are ready. */
  #placeOf(entry: Entry): number {
    let [low, high] = [0, this.#ready.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(entry, this.#ready[middle] as Entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  if (one.pod.priority !== other.pod.priority) return one.pod.priority > other.pod.priority;
  const [created, otherCreated] = [one.pod.pod.metadata.creationTimestamp, other.pod.pod.metadata.creationTimestamp];
  return created === otherCreated ? one.sequence < other.sequence : created < otherCreated;
}
