import { cronSchedule, type CronJob, type CronSchedule, type Job } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { controllerOf, controllerReference, isControlledBy } from '../../owner.ts';
import { wholeSeconds } from '../../timestamps.ts';
import { isNamespaceEnding } from '../pods.ts';
import { planCronJob, referenceTo, withActive } from './cronjob-plan.ts';

/** When this job was due, in the zone of its cron job. */
const scheduledAnnotation = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** Starts jobs by their schedules. */
export function cronJobs(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('cronjob-controller');

  const jobsOf = (cronJob: CronJob): Job[] => caches.jobs.byOwner(cronJob.metadata.uid).filter((job) => isControlledBy(job, cronJob));

  function scheduleOf(cronJob: CronJob): CronSchedule | undefined {
    const { schedule, timeZone } = cronJob.spec;
    try {
      return cronSchedule(schedule, timeZone);
    } catch (error) {
      tell(cronJob, 'Warning', 'UnparseableSchedule', `unparseable schedule: ${JSON.stringify(schedule)} : ${(error as Error).message}`);
      return undefined;
    }
  }

  async function remove(cronJob: CronJob, job: Job): Promise<void> {
    try {
      if (await objects.delete(caches.jobs, job, { propagationPolicy: 'Background' })) tell(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`);
    } catch (error) {
      tell(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${(error as Error).message}`);
      throw error;
    }
  }

  /** Undefined: something else has the name of this job, and stays. */
  async function start(cronJob: CronJob, name: string, atMs: number): Promise<Job | undefined> {
    const { jobTemplate, timeZone } = cronJob.spec;
    const { labels, annotations } = jobTemplate.metadata;
    const { namespace } = cronJob.metadata;
    try {
      const job = await objects.create(caches.jobs, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name, namespace, labels: { ...labels }, annotations: { ...annotations, [scheduledAnnotation]: zonedTime(atMs, timeZone) }, ownerReferences: [controllerReference(cronJob)] },
        spec: jobTemplate.spec,
      });
      tell(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      return job;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 409) {
        const taken = (await caches.stored(caches.jobs.resource, namespace, name)) as Job | undefined;
        return taken !== undefined && isControlledBy(taken, cronJob) ? taken : undefined;
      }
      if (!isNamespaceEnding(error)) tell(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${(error as Error).message}`);
      throw error;
    }
  }

  return {
    name: 'cronjobs',
    keys: keysOf(caches.cronJobs),
    wakes: [
      onOwnChange(caches.cronJobs),
      onChange(caches.jobs, ({ object, before }) => [controllerOf(object), before && controllerOf(before)].flatMap((owner) => caches.cronJobs.byUid(owner?.uid ?? '') ?? []).map(objectKey)),
    ],
    async reconcile(key) {
      const cronJob = byKey(caches.cronJobs, key);
      if (cronJob === undefined) return undefined;
      const plan = planCronJob(cronJob, jobsOf(cronJob), scheduleOf(cronJob), Date.now());
      for (const { type, reason, message } of plan.news) tell(cronJob, type, reason, message);
      for (const job of plan.remove) await remove(cronJob, job);
      const started = plan.start === undefined ? undefined : await start(cronJob, plan.start.name, plan.start.atMs);
      const status = started === undefined ? plan.status : withActive(plan.status, [...(plan.status.active ?? []), referenceTo(started)]);
      await objects.updateStatus(caches.cronJobs, cronJob, status);
      return plan.againAfterMs === undefined ? undefined : { againAfterMs: plan.againAfterMs };
    },
  };
}

/** RFC 3339 with the offset of the zone. */
function zonedTime(atMs: number, timeZone: string | undefined): string {
  if (timeZone === undefined) return wholeSeconds(atMs);
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(atMs);
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value.replace('GMT', '') ?? '';
  if (offset === '') return wholeSeconds(atMs);
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)/.exec(offset) ?? [];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return wholeSeconds(atMs + offsetMs).replace('Z', `${sign}${hours}:${minutes}`);
}
