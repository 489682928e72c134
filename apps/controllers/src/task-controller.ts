import type { TaskKind } from '@roundsman/api';
import type { Outcome } from '@roundsman/reconcile';
import type { Caches } from './caches.ts';
import { occurrencesOf } from './events.ts';
import type { Objects } from './objects.ts';
import { statusChangesAtMs, taskStatusOf } from './task-status.ts';

export interface TaskControllerOptions {
  readonly caches: Caches;
  readonly objects: Objects;
  readonly runtime: string;
  /** Older happenings are not told any more. */
  readonly eventTtlMs: number;
}

/** Folds a task's rounds into its status, and tells of them in Events. */
export class TaskController {
  readonly #options: TaskControllerOptions;

  constructor(options: TaskControllerOptions) {
    this.#options = options;
  }

  readonly reconcile = async (key: string): Promise<Outcome | void> => {
    const { caches, objects, runtime, eventTtlMs } = this.#options;
    const [kind = '', namespace = '', name = ''] = key.split('/');
    const informer = caches.tasks.get(kind as TaskKind);
    const task = informer?.get(namespace, name);
    if (informer === undefined || task === undefined) return undefined;
    const nowMs = Date.now();
    const rounds = caches.roundsOf(task.metadata.uid);
    const written = await objects.updateStatus(informer, task, taskStatusOf(task, rounds, runtime, nowMs));
    for (const occurrences of occurrencesOf(task, rounds, nowMs, nowMs - eventTtlMs).values()) await objects.tell(caches.events, task, occurrences, true);
    const atMs = statusChangesAtMs(written, rounds, nowMs);
    return atMs === undefined ? undefined : { againAfterMs: atMs - Date.now() };
  };
}
