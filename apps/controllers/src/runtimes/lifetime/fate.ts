import { type AnyTask, type Round } from '@roundsman/api';
import type { Carrier } from '../../tasks/carrier.ts';
import { isSettled } from '../../tasks/old-rounds.ts';
import { taskStatusOf } from '../../tasks/task-status.ts';
import type { Patience } from '../../tasks/waiting.ts';
import { agentSpecOf } from './own-runtime.ts';

/** What is to become of the runtime of a task. */
export type Fate =
  | { readonly is: 'wanted' }
  /** It stays if it is there, until then (milliseconds) or, without a time, until something changes; it is not made any more. */
  | { readonly is: 'spared'; readonly untilMs?: number }
  | { readonly is: 'over'; readonly why: string };

/**
 * From the task and its rounds alone. A runtime goes only when every result of its rounds is where it belongs: closed by the reporter and told in
 * the Round.
 */
export function fateOf(task: AnyTask, rounds: readonly Round[], carrier: Carrier, nowMs: number, patience: Patience): Fate {
  const agentSpec = agentSpecOf(task);
  if (agentSpec === undefined) return { is: 'over', why: 'its task has no agentSpec' };
  const unsettled = rounds.some((round) => !isSettled(round));
  if (task.metadata.deletionTimestamp !== undefined) return unsettled ? { is: 'spared' } : { is: 'over', why: 'its task is deleted' };
  const { finish, finishTime } = taskStatusOf(task, rounds, carrier, nowMs, patience);
  if (finish !== true) return { is: 'wanted' };
  if (unsettled) return { is: 'spared' };
  const finishedMs = Math.max(...rounds.map(({ status }) => Date.parse(status?.closedAt ?? '')).filter((ms) => !Number.isNaN(ms)), Date.parse(finishTime ?? task.metadata.creationTimestamp));
  const endMs = finishedMs + agentSpec.terminationGracePeriodMinutes * 60_000;
  return nowMs < endMs ? { is: 'spared', untilMs: endMs } : { is: 'over', why: `its task is done, and terminationGracePeriodMinutes (${agentSpec.terminationGracePeriodMinutes}) are over` };
}
