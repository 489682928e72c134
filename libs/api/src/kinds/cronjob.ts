import { ageColumn, ageOf, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { cronJobRules } from '../rules/job.ts';
import { cronJobSchema, type CronJob } from './cronjob/schema.ts';
import { containerColumns, selectorColumn } from './workload/columns.ts';
import { completeTemplate } from './workload/defaults.ts';

export const cronJob: Kind = {
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  namespaced: true,
  schema: cronJobSchema,
  emptyIsAbsent: true,
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
