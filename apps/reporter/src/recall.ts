import { taskResources, type Round, type TaskKind } from '@roundsman/api';
import type { OpenRound } from '@roundsman/reports';
import type { Store } from '@roundsman/store';

/** `never`: nobody was given it. `forgotten`: it may have been, with a task that is gone; nobody can tell any more. */
export type Recollection = { readonly was: 'there' | 'gone'; readonly round: Round } | { readonly was: 'never' | 'forgotten' };

/** What the store still knows of a round of which only results tell. */
export async function recall(store: Pick<Store, 'lastChange' | 'oldestChangeAt' | 'get'>, { taskUid, round: number, kind, namespace, task, name, ranMs }: OpenRound): Promise<Recollection> {
  const change = await store.lastChange('rounds.roundsman.io', namespace, name);
  if (change !== undefined) {
    const round = change.object as unknown as Round;
    if (round.spec.taskRef.uid === taskUid && round.spec.number === number) return { was: change.type === 'DELETED' ? 'gone' : 'there', round };
  }
  const oldest = await store.oldestChangeAt();
  // A round is made before its start: its end would be in the history.
  if (oldest !== undefined && oldest.getTime() <= Date.now() - ranMs) return { was: 'never' };
  // The rounds of a task that is there are there too.
  const living = await store.get(taskResources[kind as TaskKind], namespace, task);
  return { was: living?.metadata.uid === taskUid ? 'never' : 'forgotten' };
}
