import { expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { OpenRound } from '@roundsman/reports';
import { recall } from './recall.ts';

const ranMs = 60_000;
const open = { taskUid: 'u', round: 7, kind: 'NetReach', namespace: 'shop', task: 'mesh', name: 'netreach-mesh-u-7', ranMs } as OpenRound;

/** What a store says: the last change of the round, how long ago the oldest change of all was, and the uid of the task of that name. */
function storeOf({ last, oldestMs, task }: { last?: { type: Change['type']; uid: string; number: number }; oldestMs?: number; task?: string }): Parameters<typeof recall>[0] {
  return {
    lastChange: (resource, namespace, name) => {
      expect([resource, namespace, name]).toEqual(['rounds.roundsman.io', 'shop', 'netreach-mesh-u-7']);
      return Promise.resolve(last && ({ type: last.type, object: { spec: { taskRef: { uid: last.uid }, number: last.number } } } as unknown as Change));
    },
    oldestChangeAt: () => Promise.resolve(oldestMs === undefined ? undefined : new Date(Date.now() - oldestMs)),
    get: (resource, namespace, name) => {
      expect([resource, namespace, name]).toEqual(['netreaches.roundsman.io', 'shop', 'mesh']);
      return Promise.resolve(task === undefined ? undefined : ({ metadata: { uid: task } } as KubeObject));
    },
  };
}
const far = 10 * ranMs;
const short = ranMs / 10;

it.each<[string, Parameters<typeof storeOf>[0], string]>([
  ['is there', { last: { type: 'MODIFIED', uid: 'u', number: 7 }, oldestMs: far }, 'there'],
  ['has been deleted', { last: { type: 'DELETED', uid: 'u', number: 7 }, oldestMs: short }, 'gone'],
  ['is not in a history that is long enough', { oldestMs: far }, 'never'],
  ['was of another task of that name', { last: { type: 'DELETED', uid: 'before', number: 7 }, oldestMs: far }, 'never'],
  ['may have been, before what the history has', { oldestMs: short }, 'forgotten'],
  ['may have been, as there is no history', {}, 'forgotten'],
  ['may have been, of a task whose name another one has now', { oldestMs: short, task: 'recreated' }, 'forgotten'],
  ['is of a task that is there, with all the rounds that it has', { oldestMs: short, task: 'u' }, 'never'],
])('knows of a round that it %s', async (_what, known, was) => {
  expect(await recall(storeOf(known), open)).toMatchObject({ was });
});
