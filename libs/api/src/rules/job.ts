import { isDeepStrictEqual } from 'node:util';
import { cronSchedule } from '../cron-schedule.ts';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { CronJob } from '../kinds/cronjob/schema.ts';
import type { Job, JobSpec, JobTemplateSpec } from '../kinds/job/schema.ts';
import type { PodTemplateSpec } from '../kinds/workload/template.ts';
import { labelSelectorCauses } from '../label-selector.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem } from '../names.ts';
import { invalidValue, nonNegative, notSupported, required, type Findings } from './causes.ts';
import { cronProblem } from './cron.ts';
import { goMap, goSelector } from './go-syntax.ts';
import { failurePolicyCauses, successPolicyCauses } from './job-policies.ts';
import { podTemplateCauses, selectorMatchCauses } from './pod-template.ts';

type Context = Pick<AdmissionContext, 'old' | 'now'>;

const counts = ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished', 'backoffLimitPerIndex', 'maxFailedIndexes'] as const;
/** Of an indexed job: pods at a time, indexes that may fail. */
const mostIndexed = 100_000;

export function jobRules(object: KubeObject, { old }: Context): Findings {
  const { metadata, spec } = object as Job;
  const causes = specCauses(spec, 'spec');
  // One that is empty would find every pod.
  if (spec.selector === undefined && spec.manualSelector === true) {
    causes.push(required('spec.selector', ''), invalidValue('spec.template.metadata.labels', goMap(spec.template.metadata.labels ?? {}), '`selector` does not match template `labels`'));
  }
  if (spec.selector !== undefined) causes.push(...labelSelectorCauses(spec.selector, 'spec.selector'), ...ownSelectorCauses(object as Job), ...selectorMatchCauses(spec.template, spec.selector, 'spec.template'));
  const last = spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0 ? `${metadata.name}-${spec.completions! - 1}` : undefined;
  if (last !== undefined && labelProblem(last) !== undefined) causes.push(invalidValue('metadata.name', metadata.name, `will not able to create pod with invalid DNS label: ${last}`));
  if (old !== undefined) causes.push(...changeCauses(spec, old as Job));
  return { causes, warnings: [] };
}

/** A selector that the server makes finds this job's pods and no others. */
function ownSelectorCauses({ metadata, spec }: Job): Cause[] {
  if (spec.manualSelector === true || spec.selector === undefined) return [];
  const { labels = {} } = spec.template.metadata;
  const own = { 'controller-uid': metadata.uid, 'job-name': metadata.name, 'batch.kubernetes.io/controller-uid': metadata.uid, 'batch.kubernetes.io/job-name': metadata.name };
  const causes = Object.entries(own).flatMap(([key, value]) => {
    const field = `spec.template.metadata.labels[${key}]`;
    if (labels?.[key] === undefined) return [required(field, `must be '${value}'`)];
    return labels[key] === value ? [] : [invalidValue(field, labels[key], `must be '${value}'`)];
  });
  if (selectorMatchCauses({ metadata: { labels: own }, spec: spec.template.spec }, spec.selector, '').length > 0) causes.push(invalidValue('spec.selector', goSelector(spec.selector), '`selector` not auto-generated'));
  return causes;
}

function specCauses(spec: JobTemplateSpec, field: string): Cause[] {
  const causes = counts.flatMap((member) => nonNegative(`${field}.${member}`, spec[member]));
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) causes.push(required(`${field}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  causes.push(...(spec.completionMode === 'Indexed' ? indexedCauses(spec, field) : unindexedCauses(spec, field)));
  const { restartPolicy } = spec.template.spec;
  const at = `${field}.template.spec.restartPolicy`;
  if (spec.podFailurePolicy !== undefined) causes.push(...failurePolicyCauses(spec, `${field}.podFailurePolicy`));
  if (spec.successPolicy !== undefined && spec.completionMode === 'Indexed') causes.push(...successPolicyCauses(spec, `${field}.successPolicy`));
  if (spec.podFailurePolicy !== undefined && (spec.podReplacementPolicy ?? 'Failed') !== 'Failed') causes.push(notSupported(`${field}.podReplacementPolicy`, spec.podReplacementPolicy, ['Failed']));
  causes.push(...podTemplateCauses(spec.template, `${field}.template`));
  if (restartPolicy === 'Always') causes.push(required(at, 'valid values: "OnFailure", "Never"'));
  else if (spec.podFailurePolicy !== undefined && restartPolicy !== 'Never') causes.push(invalidValue(at, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified'));
  return causes;
}

function indexedCauses({ completions, parallelism = 1, maxFailedIndexes }: JobTemplateSpec, field: string): Cause[] {
  const causes: Cause[] = [];
  if (completions === undefined) causes.push(required(`${field}.completions`, 'when completion mode is Indexed'));
  if (parallelism > mostIndexed) causes.push(invalidValue(`${field}.parallelism`, parallelism, `must be less than or equal to ${mostIndexed} when completion mode is Indexed`));
  if (maxFailedIndexes !== undefined && completions !== undefined && maxFailedIndexes > completions) causes.push(invalidValue(`${field}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions'));
  if (maxFailedIndexes !== undefined && maxFailedIndexes > mostIndexed) causes.push(invalidValue(`${field}.maxFailedIndexes`, maxFailedIndexes, `must be less than or equal to ${mostIndexed}`));
  return causes;
}

const unindexedCauses = (spec: JobTemplateSpec, field: string): Cause[] =>
  (['backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy'] as const).flatMap((member) => (spec[member] === undefined ? [] : [invalidValue(`${field}.${member}`, spec[member], 'requires indexed completion mode')]));

const immutable = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'] as const;

function changeCauses(spec: JobSpec, { spec: old, status }: Job): Cause[] {
  const causes: Cause[] = [];
  if (spec.completionMode !== 'Indexed') {
    if (spec.completions !== old.completions) causes.push(invalidValue('spec.completions', spec.completions ?? null, 'field is immutable'));
  } else if (spec.completions !== old.completions && spec.completions !== undefined && spec.completions !== spec.parallelism) {
    causes.push(invalidValue('spec.completions', spec.completions, 'can only be modified in tandem with spec.parallelism'));
  }
  if (!isDeepStrictEqual(spec.selector, old.selector)) causes.push(invalidValue('spec.selector', goSelector(spec.selector ?? {}), 'field is immutable'));
  const placeable = old.suspend && status?.startTime === undefined;
  if (!isDeepStrictEqual(placeable ? unplaced(spec.template) : spec.template, placeable ? unplaced(old.template) : old.template)) causes.push(invalidValue('spec.template', spec.template, 'field is immutable'));
  for (const member of immutable) if (!isDeepStrictEqual(spec[member], old[member])) causes.push(invalidValue(`spec.${member}`, spec[member] ?? null, 'field is immutable'));
  return causes;
}

/** What stays fixed of the template of a job that is suspended and has not begun: all but where its pods go. */
function unplaced({ metadata, spec }: PodTemplateSpec): object {
  const { labels: _labels, annotations: _annotations, ...fixed } = metadata;
  const { nodeSelector: _selector, tolerations: _tolerations, schedulingGates: _gates, affinity: { nodeAffinity: _node, ...affinity } = {}, ...rest } = spec;
  return { metadata: fixed, spec: { ...rest, affinity } };
}

export function cronJobRules(object: KubeObject, { old, now }: Context): Findings {
  const { metadata, spec } = object as CronJob;
  const causes: Cause[] = [];
  const { jobTemplate, timeZone } = spec;
  if (old === undefined && metadata.name.length > 52) causes.push(invalidValue('metadata.name', metadata.name, 'must be no more than 52 characters'));
  causes.push(...scheduleCauses(spec.schedule, 'spec.schedule'), ...nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds));
  if (timeZone !== undefined && timeZone !== (old as CronJob | undefined)?.spec.timeZone) causes.push(...zoneCauses(timeZone, 'spec.timeZone'));
  causes.push(...specCauses(jobTemplate.spec, 'spec.jobTemplate.spec'));
  if (jobTemplate.spec.selector !== undefined) causes.push(invalidValue('spec.jobTemplate.spec.selector', goSelector(jobTemplate.spec.selector), '`selector` will be auto-generated'));
  if (jobTemplate.spec.manualSelector === true) causes.push(notSupported('spec.jobTemplate.spec.manualSelector', true, ['nil', 'false']));
  causes.push(...nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit), ...nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit));
  return { causes, warnings: causes.length === 0 && spec.schedule !== (old as CronJob | undefined)?.spec.schedule ? scheduleWarnings(spec, now) : [] };
}

/** Kubernetes takes these, too. */
function scheduleWarnings({ schedule, timeZone }: CronJob['spec'], now: number): string[] {
  try {
    if (cronSchedule(schedule, timeZone).next(now) !== undefined) return [];
    return [`spec.schedule: "${schedule}" never comes: no date fits it, no job will be started`];
  } catch (error) {
    return [`spec.schedule: "${schedule}" cannot be followed, no job will be started: ${(error as Error).message}`];
  }
}

function scheduleCauses(schedule: string, field: string): Cause[] {
  if (schedule === '') return [required(field, '')];
  const problem = cronProblem(schedule);
  const causes = problem === undefined ? [] : [invalidValue(field, schedule, problem)];
  return schedule.includes('TZ') ? [...causes, invalidValue(field, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')] : causes;
}

function zoneCauses(timeZone: string, field: string): Cause[] {
  if (timeZone === '') return [invalidValue(field, timeZone, 'timeZone must be nil or non-empty string')];
  if (timeZone.toLowerCase() === 'local') return [invalidValue(field, timeZone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')];
  try {
    Intl.DateTimeFormat('en', { timeZone });
    return [];
  } catch {
    return [invalidValue(field, timeZone, `unknown time zone ${timeZone}`)];
  }
}
