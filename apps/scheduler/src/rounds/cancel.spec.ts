import { expect, it } from '@jest/globals';
import { roundAnnotations, taskAnnotations, type Round } from '@roundsman/api';
import type { Task } from './caches.ts';
import { whyCanceled } from './cancel.ts';

const roundOf = (annotations: Record<string, string>): Round => ({ metadata: { annotations }, spec: { taskRef: { kind: 'NetReach', uid: 'u' } } }) as unknown as Round;

it.each<[what: string, metadata: object | undefined, asked: string, why: string]>([
  ['gone', undefined, '', 'its task was deleted'],
  ['being deleted', { deletionTimestamp: '2026-01-01T12:00:00Z' }, '', 'its task was deleted'],
  ['asking for it', { annotations: { [taskAnnotations.cancel]: 'b' } }, 'a', `it was asked for by the annotation ${taskAnnotations.cancel} of its task`],
  ['having asked for another one', { annotations: { [taskAnnotations.cancel]: 'a' } }, 'a', 'the round was canceled'],
  ['silent', {}, '', 'the round was canceled'],
])('says why a round was canceled by its task: %s', (_what, metadata, asked, why) => {
  const task = metadata === undefined ? undefined : ({ metadata } as unknown as Task);
  expect(whyCanceled({ taskByUid: () => task }, roundOf({ [roundAnnotations.cancel]: asked }))).toBe(why);
});
