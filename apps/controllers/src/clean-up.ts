import { isOpenRound, taskResources, type KubeObject, type Round, type TaskKind } from '@roundsman/api';
import type { Outcome } from '@roundsman/reconcile';
import type { Caches } from './caches.ts';
import type { Objects } from './objects.ts';

export interface CleanUpOptions {
  readonly caches: Caches;
  readonly objects: Objects;
  readonly roundsKept: number;
  readonly eventTtlMs: number;
  /** An open round of a deleted task is removed so long after its deadline, closed or not. Milliseconds. */
  readonly graceMs?: number;
}

const minute = 60_000;

/** Closed, and the reporter has said so: nothing waits for this object any more. */
const isSettled = (round: Round): boolean => !isOpenRound(round) && round.status?.state !== undefined && round.status.state !== 'ongoing';

/** Removes what nobody needs: old rounds, old events, and what belonged to objects that are gone. */
export class CleanUp {
  readonly #options: CleanUpOptions;

  constructor(options: CleanUpOptions) {
    this.#options = options;
  }

  /** The key is a task's uid. */
  readonly rounds = async (taskUid: string): Promise<Outcome | void> => {
    const { caches, objects, roundsKept, graceMs } = this.#options;
    const newestFirst = caches.roundsOf(taskUid).sort((a, b) => b.spec.number - a.spec.number);
    const newest = newestFirst[0];
    if (newest === undefined) return undefined;
    if (!(await this.#isGone(newest.spec.taskRef, taskUid))) {
      for (const round of newestFirst.slice(roundsKept)) if (isSettled(round)) await objects.remove(caches.rounds, round);
      return undefined;
    }
    let waitMs: number | undefined;
    for (const round of newestFirst) {
      const leftMs = Date.parse(round.spec.deadline) + (graceMs ?? minute) - Date.now();
      if (isSettled(round) || leftMs <= 0) await objects.remove(caches.rounds, round);
      else waitMs = Math.min(waitMs ?? leftMs, leftMs);
    }
    return waitMs === undefined ? undefined : { againAfterMs: waitMs };
  };

  /** The key is `namespace/name` of an event. */
  readonly events = async (key: string): Promise<Outcome | void> => {
    const { caches, objects, eventTtlMs } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const event = caches.events.get(namespace, name);
    if (event === undefined) return undefined;
    const leftMs = lastSeenMs(event) + eventTtlMs - Date.now();
    if (leftMs > 0 && !(await this.#ownersGone(event))) return { againAfterMs: leftMs };
    await objects.remove(caches.events, event);
    return undefined;
  };

  /** Only owners of kinds that are known here count; a stranger's are left alone. */
  async #ownersGone(object: KubeObject): Promise<boolean> {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return false;
    for (const { kind, name, uid } of owners) {
      const resource = taskResources[kind as TaskKind];
      if (resource === undefined || !(await this.#isGone({ resource, namespace: object.metadata.namespace ?? '', name }, uid))) return false;
    }
    return true;
  }

  /** A cache may be behind: what it does not have is asked for. */
  async #isGone({ resource, namespace, name }: { resource: string; namespace: string; name: string }, uid: string): Promise<boolean> {
    const { caches } = this.#options;
    if (caches.taskByUid(uid) !== undefined) return false;
    return (await caches.store.get(resource, namespace, name))?.metadata.uid !== uid;
  }
}

function lastSeenMs(event: KubeObject): number {
  const { lastTimestamp, eventTime, series } = event as unknown as { lastTimestamp?: string | null; eventTime?: string | null; series?: { lastObservedTime?: string | null } | null };
  const ms = Date.parse(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp);
  return Number.isNaN(ms) ? Date.parse(event.metadata.creationTimestamp) : ms;
}
