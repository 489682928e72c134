import type { Job } from '@roundsman/api';
import { byKey, keysOf, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { finishedAs } from './job-end.ts';

/** When a finished job is to go; undefined when it stays. Milliseconds since the epoch. */
export function expiresAtMs(job: Job): number | undefined {
  const seconds = job.spec.ttlSecondsAfterFinished;
  const finished = finishedAs(job);
  if (seconds === undefined || finished === undefined) return undefined;
  return Date.parse(finished.lastTransitionTime ?? job.metadata.creationTimestamp) + seconds * 1000;
}

/** Removes jobs `ttlSecondsAfterFinished` after their end, with their pods. */
export function expiredJobs({ caches, objects }: Deps): LoopDefinition {
  return {
    name: 'expired-jobs',
    keys: keysOf(caches.jobs),
    wakes: [onOwnChange(caches.jobs)],
    async reconcile(key) {
      const job = byKey(caches.jobs, key);
      const atMs = job === undefined || job.metadata.deletionTimestamp !== undefined ? undefined : expiresAtMs(job);
      if (job === undefined || atMs === undefined) return undefined;
      const leftMs = atMs - Date.now();
      if (leftMs > 0) return { againAfterMs: leftMs };
      // In this very state: its time to live may have been changed.
      await objects.delete(caches.jobs, job, { propagationPolicy: 'Foreground', resourceVersion: job.metadata.resourceVersion });
      return undefined;
    },
  };
}
