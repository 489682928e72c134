import { z } from 'zod';
import { ageColumn, ageOf, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { objectMetaSchema, type KubeObject } from '../meta.ts';
import { cronJobRules } from '../rules/job.ts';
import { message, requiredText, text, time, whole } from './fields.ts';
import { jobSpecSchema, type JobTemplateSpec } from './job.ts';
import { objectOf } from './object.ts';
import { objectReferenceSchema } from './pod/reference.ts';
import { containerColumns, selectorColumn } from './workload/columns.ts';
import { completeTemplate } from './workload/defaults.ts';
import type { TemplateMeta } from './workload/template.ts';

const batch = 'io.k8s.api.batch.v1';
const specSchema = message(`${batch}.CronJobSpec`, 'When which job is started', {
  schedule: requiredText('When: minute, hour, day of month, month, day of week'),
  timeZone: text('Zone that the schedule is meant in, such as Europe/Berlin; that of the controller unless set'),
  startingDeadlineSeconds: whole('Seconds that a start may be late; later ones are left out'),
  concurrencyPolicy: z.enum(['Allow', 'Forbid', 'Replace']).default('Allow').describe('What happens when the job before still runs'),
  suspend: z.boolean().default(false).describe('While true no jobs are started'),
  jobTemplate: message(`${batch}.JobTemplateSpec`, 'What jobs are made from', {
    metadata: objectMetaSchema.prefault({}).describe('Labels and annotations of the jobs'),
    spec: jobSpecSchema.describe('What the jobs do'),
  }).describe('What the jobs are made from'),
  successfulJobsHistoryLimit: z.number().int().default(3).describe('How many jobs that succeeded are kept'),
  failedJobsHistoryLimit: z.number().int().default(1).describe('How many jobs that failed are kept'),
});
const statusSchema = message(`${batch}.CronJobStatus`, 'State of a cron job', {
  active: z.array(objectReferenceSchema).optional().describe('Jobs that run'),
  lastScheduleTime: time('When a job was last started'),
  lastSuccessfulTime: time('When a job last succeeded'),
});
export type CronJobSpec = Omit<z.infer<typeof specSchema>, 'jobTemplate'> & { jobTemplate: { metadata: TemplateMeta; spec: JobTemplateSpec } };
export type CronJobStatus = z.infer<typeof statusSchema>;
export interface CronJob extends KubeObject<CronJobSpec, CronJobStatus> {}

export const cronJob: Kind = {
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  namespaced: true,
  schema: objectOf('batch/v1', 'CronJob', 'Starts jobs by a schedule', {
    spec: specSchema.describe('When which job is started'),
    status: statusSchema.optional().describe('What was observed of it'),
  }),
  nullsAreAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Schedule', 'string', 'When jobs are started', (object) => textAt(object, 'spec', 'schedule') ?? ''),
    column('Timezone', 'string', 'Zone that the schedule is meant in', (object) => textAt(object, 'spec', 'timeZone') ?? '<none>'),
    column('Suspend', 'boolean', 'Whether no jobs are started', (object) => (valueAt(object, 'spec', 'suspend') === true ? 'True' : 'False')),
    column('Active', 'integer', 'How many jobs run', (object) => (valueAt(object, 'status', 'active') as unknown[] | undefined)?.length ?? 0),
    column('Last Schedule', 'string', 'Time since a job was last started', lastScheduleText),
    ageColumn,
    ...containerColumns(['spec', 'jobTemplate', 'spec', 'template']),
    selectorColumn(['spec', 'jobTemplate', 'spec', 'selector']),
  ],
  fieldSelectors: [],
  validate: cronJobRules,
};

function lastScheduleText(object: KubeObject, now: number): string {
  const last = textAt(object, 'status', 'lastScheduleTime');
  return last === undefined ? '<none>' : ageOf(last, now);
}

function complete(object: KubeObject): void {
  const { jobTemplate } = (object as CronJob).spec;
  jobTemplate.metadata.creationTimestamp ??= null;
  object.status ??= {};
  completeTemplate(jobTemplate.spec.template);
}
