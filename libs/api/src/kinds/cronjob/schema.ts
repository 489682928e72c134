import { z } from 'zod';
import { objectMetaSchema, type KubeObject } from '../../meta.ts';
import { message, requiredText, saidText, time, whole } from '../fields.ts';
import { jobSpecSchema, type JobTemplateSpec } from '../job/schema.ts';
import { objectOf } from '../object.ts';
import { objectReferenceSchema } from '../pod/reference.ts';
import type { TemplateMeta } from '../workload/template.ts';

const batch = 'io.k8s.api.batch.v1';
const specSchema = message(`${batch}.CronJobSpec`, 'When which job is started', {
  schedule: requiredText('When: minute, hour, day of month, month, day of week'),
  timeZone: saidText('Zone that the schedule is meant in, such as Europe/Berlin; that of the controller unless set'),
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

export const cronJobSchema = objectOf('batch/v1', 'CronJob', 'Starts jobs by a schedule', {
  spec: specSchema.describe('When which job is started'),
  status: statusSchema.optional().describe('What was observed of it'),
});
