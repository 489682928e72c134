import { isOpenRound, taskKinds, type Round } from '@roundsman/api';
import { onChange, type Deps, type LoopDefinition } from '../loop.ts';

/** An open round of a deleted task is removed so long after its deadline, closed or not. */
const graceMs = 60_000;

/** Closed, and the reporter has said so: nothing waits for this object any more. */
export const isSettled = (round: Round): boolean => !isOpenRound(round) && round.status?.state !== undefined && round.status.state !== 'ongoing';

/**
 * Removes the rounds that nobody needs: beyond the newest `roundsKept` of a task, and those of deleted tasks. Garbage collection
 * leaves rounds to this loop: an open one of a deleted task is needed until its runners have stopped. A key is a task's uid.
 */
export function oldRounds({ caches, objects, settings: { roundsKept } }: Deps): LoopDefinition {
  /** A cache may be behind: what it does not have is asked for. */
  const isGone = async ({ resource, namespace, name }: Round['spec']['taskRef'], uid: string): Promise<boolean> =>
    caches.taskByUid(uid) === undefined && (await caches.stored(resource, namespace, name))?.metadata.uid !== uid;
  return {
    name: 'old-rounds',
    concurrency: 2,
    keys: () => new Set(caches.rounds.list().map(({ spec }) => spec.taskRef.uid)),
    wakes: [
      onChange(caches.rounds, ({ object }) => [object.spec.taskRef.uid]),
      ...taskKinds.map((kind) => onChange(caches.tasks[kind], ({ type, object }) => (type === 'DELETED' ? [object.metadata.uid] : []))),
    ],
    async reconcile(taskUid) {
      const newestFirst = caches.roundsOf(taskUid).sort((a, b) => b.spec.number - a.spec.number);
      const newest = newestFirst[0];
      if (newest === undefined) return undefined;
      if (!(await isGone(newest.spec.taskRef, taskUid))) {
        for (const round of newestFirst.slice(roundsKept)) if (isSettled(round)) await objects.delete(caches.rounds, round);
        return undefined;
      }
      let waitMs: number | undefined;
      for (const round of newestFirst) {
        const leftMs = Date.parse(round.spec.deadline) + graceMs - Date.now();
        if (isSettled(round) || leftMs <= 0) await objects.delete(caches.rounds, round);
        else waitMs = Math.min(waitMs ?? leftMs, leftMs);
      }
      return waitMs === undefined ? undefined : { againAfterMs: waitMs };
    },
  };
}
