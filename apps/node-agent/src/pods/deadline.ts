import type { Pod } from '@roundsman/api';
import type { Verdict } from '../status/pod-status.ts';

export const deadlineExceeded: Verdict = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' };

/** When the time of a pod is over, which began at `seenAt` unless its status says when: epoch milliseconds; undefined without a limit. */
export function deadlineOf({ spec, status }: Pick<Pod, 'spec' | 'status'>, seenAt: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined) return undefined;
  return (status?.startTime === undefined ? seenAt : Date.parse(status.startTime)) + spec.activeDeadlineSeconds * 1000;
}
