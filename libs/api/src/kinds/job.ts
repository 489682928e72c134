import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { jobRules } from '../rules/job.ts';
import { jobSchema, type Job } from './job/schema.ts';
import { completeTimes, dropZeros } from './workload/defaults.ts';
import { jobColumns } from './job/columns.ts';
import { chooseOwnPods, completeJobSpec } from './job/defaults.ts';

export const job: Kind = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  singular: 'job',
  shortNames: [],
  categories: ['all'],
  namespaced: true,
  schema: jobSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: jobColumns,
  fieldSelectors: [],
  validate: jobRules,
  orphans: true,
};

function complete(object: KubeObject): void {
  const { metadata, spec, status } = object as Job;
  completeJobSpec(spec);
  if (spec.manualSelector !== true) chooseOwnPods(object as Job);
  // A job without labels has those of its pods.
  const { labels } = spec.template.metadata;
  if (Object.keys(metadata.labels ?? {}).length === 0 && Object.keys(labels ?? {}).length > 0) metadata.labels = { ...labels };
  object.status ??= {};
  dropZeros(status, 'active', 'succeeded', 'failed');
  completeTimes(status?.conditions, 'lastProbeTime', 'lastTransitionTime');
}
