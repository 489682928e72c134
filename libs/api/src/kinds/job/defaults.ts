import type { Job, JobSpec, JobTemplateSpec } from './schema.ts';
import { completeTemplate } from '../workload/defaults.ts';

/** Changes `spec`. */
export function completeJobSpec(spec: JobTemplateSpec): asserts spec is JobSpec {
  completeTemplate(spec.template);
  // Neither set means one pod; with parallelism alone any success is enough.
  if (spec.parallelism === undefined) spec.completions ??= 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
}

/**
 * Makes the selector of a job and the labels by which it finds its pods, from its name and UID. Labels that are there already
 * stay: what does not fit is refused later. Does nothing while the job has no UID yet. Changes `job`.
 */
export function chooseOwnPods({ metadata, spec }: Job): void {
  const { uid, name } = metadata;
  if (!uid) return;
  spec.template.metadata.labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name, 'controller-uid': uid, 'job-name': name, ...spec.template.metadata.labels };
  spec.selector = { ...spec.selector, matchLabels: { 'batch.kubernetes.io/controller-uid': uid, ...spec.selector?.matchLabels } };
}
