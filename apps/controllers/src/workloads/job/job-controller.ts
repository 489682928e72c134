import type { Job, Pod } from '@roundsman/api';
import { versionOf } from '@roundsman/reconcile';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { claimed, ownersConcerned } from '../adoption.ts';
import { isNameTaken, isNamespaceEnding, Pods } from '../pods.ts';
import { slowStart } from '../slow-start.ts';
import { finishedAs } from './job-end.ts';
import { planJob } from './job-plan.ts';
import { jobPod, jobPodName } from './job-pod.ts';
import { isTracked } from './job-pods.ts';
import { jobNews, withPods } from './job-status.ts';
import { letGo } from './let-go.ts';

/** Jobs whose `managedBy` names somebody else are left alone. */
export const isOurs = ({ spec }: Job): boolean => spec.managedBy === undefined || spec.managedBy === 'kubernetes.io/job-controller';

/** Milliseconds until the next look while news is on its way. */
const soonMs = 50;

/** Runs the pods of jobs to their end and counts them, each once. */
export function jobs(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('job-controller');
  const pods = new Pods(deps, tell);

  /** Intake gives every job its selector; without one nothing is a job's: an empty one would take every pod there is. */
  const podsOf = async (job: Job): Promise<Pod[]> => {
    const { selector } = job.spec;
    return selector === undefined ? [] : claimed(deps, { owner: job, owners: caches.jobs, selector, cache: caches.pods });
  };
  const ownPods = (job: Job): Pod[] => caches.pods.byOwner(job.metadata.uid);

  /** Pods of the job that are written down as ended, but that the cache has never shown: they may be counted only when they are surely gone. */
  const isBehind = (job: Job): boolean => {
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    return caches.pods.position < versionOf(job) && [...succeeded, ...failed].some((uid) => caches.pods.byUid(uid) === undefined);
  };

  async function remove(job: Job, pod: Pod, uncounted: boolean): Promise<void> {
    if (uncounted && isTracked(pod)) await letGo(deps, pod);
    await pods.delete(job, pod);
  }

  return {
    name: 'jobs',
    keys: keysOf(caches.jobs),
    wakes: [onOwnChange(caches.jobs), onChange(caches.pods, ({ object, before }) => ownersConcerned(caches.jobs, object, before).map(objectKey))],
    async reconcile(key) {
      const job = byKey(caches.jobs, key);
      if (job === undefined || !isOurs(job) || finishedAs(job) !== undefined) return undefined;
      if (isBehind(job)) return { againAfterMs: soonMs };
      const plan = planJob(job, await podsOf(job), Date.now());

      const names = new Set<string>();
      const isTaken = (name: string): boolean => names.has(name) || caches.pods.get(job.metadata.namespace, name) !== undefined;
      const drafts = plan.open.map((opening) => {
        const name = jobPodName(job, opening, isTaken);
        names.add(name);
        return jobPod(job, opening, name);
      });
      let known = true;
      const opened = await slowStart(drafts.length, async (i) => {
        try {
          await pods.create(job, drafts[i]!);
        } catch (error) {
          // Made by the leader before; the cache will show it.
          if (!isNameTaken(error)) throw error;
          known = false;
        }
      });
      const removed = await Promise.allSettled(plan.remove.map(({ pod, uncounted }) => remove(job, pod, uncounted)));
      const problem = (isNamespaceEnding(opened.error) ? undefined : opened.error) ?? removed.find((outcome) => outcome.status === 'rejected')?.reason;

      const status = withPods(plan.status, ownPods(job));
      await objects.updateStatus(caches.jobs, job, status, { exact: true });
      for (const { type, reason, message } of jobNews(job, status)) tell(job, type, reason, message);
      // Only now: whoever looks next finds them written down, and gone.
      for (const pod of plan.release) await letGo(deps, pod);
      if (problem !== undefined) throw problem;
      if (plan.release.length > 0 || plan.remove.length > 0) return { againAfterMs: 0 };
      if (!known) return { againAfterMs: soonMs };
      return plan.againAfterMs === undefined ? undefined : { againAfterMs: plan.againAfterMs };
    },
  };
}
