import type { Job, Pod } from '@roundsman/api';
import { endedAtMs, hasFailed } from './job-pods.ts';

/** As Kubernetes documents for jobs: 10 s, doubled by every failure in a row, six minutes at most. */
const firstMs = 10_000;
const longestMs = 360_000;

/** Milliseconds to wait before the next pod, after so many failures in a row of which the last was then. */
export function backOffLeftMs(failures: number, lastFailureMs: number, nowMs: number): number {
  if (failures === 0) return 0;
  return Math.max(0, lastFailureMs + Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 20)) - nowMs);
}

/** Read off the pods there are, so that it outlives a restart: failures since the last success. */
export function jobBackOffLeftMs(job: Job, pods: readonly Pod[], nowMs: number): number {
  const lastSuccessMs = Math.max(-Infinity, ...pods.filter(({ status }) => status?.phase === 'Succeeded').map(endedAtMs));
  const failures = pods.filter((pod) => hasFailed(pod, job)).map(endedAtMs).filter((ms) => ms > lastSuccessMs);
  return backOffLeftMs(failures.length, Math.max(...failures), nowMs);
}
