import { isDeepStrictEqual } from 'node:util';
import type { Runner, RunnerStatus } from '@roundsman/api';
import { messages, type Bus, type Messages, type Subscription } from '@roundsman/bus';
import type { Outcome } from '@roundsman/reconcile';
import type { z } from 'zod';
import type { Caches } from './caches.ts';
import type { Occurrence } from './events.ts';
import type { Objects } from './objects.ts';
import { wholeSeconds } from './task-status.ts';

export type RunnerBeat = z.infer<Messages['runnerBeat']['schema']>;

export interface RunnerRegistryOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly objects: Objects;
  /** Silent for so long: not ready. Milliseconds. */
  readonly lostMs: number;
  /** Lost for so long: forgotten. */
  readonly removeMs: number;
}

/** What a Runner's status is to be. `beat`: its last heartbeat, undefined when it is silent. */
export function runnerStatusOf(stored: RunnerStatus | undefined, beat: RunnerBeat | undefined, lostMs: number, nowMs: number): RunnerStatus | undefined {
  const draft = beat === undefined ? stored && { ...stored, ready: false, reason: stored.ready ? `no heartbeat since ${wholeSeconds(nowMs - lostMs)}` : (stored.reason ?? 'no heartbeat') } : ofBeat(beat);
  if (draft === undefined) return undefined;
  return { ...draft, lastTransitionTime: stored !== undefined && stored.ready === draft.ready ? stored.lastTransitionTime : wholeSeconds(nowMs) };
}

function ofBeat({ node, runtime, instance, version, ready, reason, addresses, ports, capacityQps }: RunnerBeat): Omit<RunnerStatus, 'lastTransitionTime'> {
  return { node, runtime, instance, version, ready, ...(ready ? {} : { reason: reason ?? 'not ready' }), addresses, ports, capacityQps };
}

/** What the step from one status to the next tells people. */
export function runnerOccurrence(before: RunnerStatus | undefined, after: RunnerStatus, nowMs: number): Occurrence | undefined {
  const atMs = nowMs;
  if (before === undefined) return { reason: 'RunnerJoined', type: 'Normal', message: `Runner on ${after.node} joined runtime ${after.runtime}`, atMs };
  if (before.instance !== after.instance) return { reason: 'RunnerRestarted', type: 'Normal', message: `Runner on ${after.node} started anew`, atMs };
  if (before.ready === after.ready) return undefined;
  if (after.ready) return { reason: 'RunnerReady', type: 'Normal', message: `Runner on ${after.node} is ready`, atMs };
  return { reason: 'RunnerLost', type: 'Warning', message: `Runner on ${after.node} is not ready: ${after.reason ?? 'no reason given'}`, atMs };
}

/** Keeps a Runner object for every probe-runner from its heartbeats; writes only what changed. */
export class RunnerRegistry {
  readonly #options: RunnerRegistryOptions;
  readonly #beats = new Map<string, { atMs: number; beat: RunnerBeat }>();
  /** Nobody is called lost before it had a chance to be heard. */
  readonly #startedMs = Date.now();
  #subscription: Subscription | undefined;

  constructor(options: RunnerRegistryOptions) {
    this.#options = options;
  }

  async start(wake: (runner: string) => void): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe(messages.runnerBeat, {}, ({ payload }) => {
      const { runner } = payload;
      this.#beats.set(runner, { atMs: Date.now(), beat: payload });
      const status = this.#options.caches.runners.get(undefined, runner)?.status;
      if (status === undefined || !isDeepStrictEqual(ofBeat(payload), withoutTransition(status))) wake(runner);
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.stop();
  }

  keys(): string[] {
    return [...new Set([...this.#beats.keys(), ...this.#options.caches.runners.list().map(({ metadata }) => metadata.name)])];
  }

  readonly reconcile = async (name: string): Promise<Outcome | void> => {
    const { caches, objects, lostMs, removeMs } = this.#options;
    const nowMs = Date.now();
    const heard = this.#beats.get(name);
    const silentMs = nowMs - (heard?.atMs ?? this.#startedMs);
    const silent = silentMs >= lostMs;
    const stored = caches.runners.get(undefined, name);
    // Another controller's heartbeats may be what the object is from: while there is none here, wait.
    if (!silent && heard === undefined) return { againAfterMs: lostMs - silentMs };
    const status = runnerStatusOf(stored?.status, silent ? undefined : heard?.beat, lostMs, nowMs);
    if (status === undefined) {
      this.#beats.delete(name);
      return undefined;
    }
    const lostForMs = nowMs - Date.parse(status.lastTransitionTime);
    if (silent && stored !== undefined && lostForMs >= removeMs) {
      this.#beats.delete(name);
      await objects.remove(caches.runners, stored);
      return undefined;
    }
    const written: Runner =
      stored === undefined
        ? await objects.create(caches.runners, { apiVersion: 'roundsman.io/v1', kind: 'Runner', metadata: { name }, spec: {}, status })
        : await objects.updateStatus(caches.runners, stored, status);
    const occurrence = runnerOccurrence(stored?.status, status, nowMs);
    if (occurrence !== undefined) await objects.tell(caches.events, written, [occurrence]);
    return { againAfterMs: silent ? removeMs - lostForMs : lostMs - silentMs };
  };
}

function withoutTransition({ lastTransitionTime: _time, ...rest }: RunnerStatus): Omit<RunnerStatus, 'lastTransitionTime'> {
  return rest;
}
