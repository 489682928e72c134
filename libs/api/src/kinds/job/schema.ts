import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { flag, message, requiredText, shownTime, text, texts, time, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { workloadCondition } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { podTemplateSchema } from '../workload/template.ts';

const batch = 'io.k8s.api.batch.v1';
const failurePolicySchema = message(`${batch}.PodFailurePolicy`, 'What failed pods mean', {
  rules: z
    .array(
      message(`${batch}.PodFailurePolicyRule`, 'What is done about pods that failed in some way', {
        action: z.enum(['Count', 'FailIndex', 'FailJob', 'Ignore']).describe('What is done'),
        onExitCodes: message(`${batch}.PodFailurePolicyOnExitCodesRequirement`, 'By exit code', {
          containerName: text('Container to look at; all of them unless set'),
          operator: z.enum(['In', 'NotIn']).describe('In or NotIn'),
          values: z.array(z.number().int()).describe('Exit codes'),
        })
          .optional()
          .describe('Pods whose containers ended with these exit codes'),
        onPodConditions: z
          .array(message(`${batch}.PodFailurePolicyOnPodConditionsPattern`, 'By condition', { type: requiredText('Type of the condition'), status: z.string().default('True').describe('Its status') }))
          .optional()
          .describe('Pods that have one of these conditions'),
      }),
    )
    .describe('The first that fits counts'),
});
const successPolicySchema = message(`${batch}.SuccessPolicy`, 'When an indexed job counts as done early', {
  rules: z
    .array(message(`${batch}.SuccessPolicyRule`, 'One way to be done', { succeededIndexes: text('Indexes of which must succeed, such as 0,2-5'), succeededCount: whole('How many must') }))
    .describe('One of them is enough'),
});

export const jobSpecSchema = message(`${batch}.JobSpec`, 'Which pods are to run to their end', {
  // No defaults here: only a job has them (job/defaults.ts), not what a CronJob makes its jobs from.
  parallelism: whole('How many pods may run at a time; 1 unless set'),
  completions: whole('How many pods must succeed'),
  activeDeadlineSeconds: whole('Seconds after which it is ended as failed'),
  podFailurePolicy: failurePolicySchema.optional().describe('What failed pods mean'),
  successPolicy: successPolicySchema.optional().describe('When it counts as done early'),
  backoffLimit: whole('How many pods may fail before the job does; 6 unless set'),
  backoffLimitPerIndex: whole('The same for each index'),
  maxFailedIndexes: whole('How many indexes may fail before the job does'),
  selector: labelSelectorSchema.optional().describe('Its pods, by their labels; made by the server'),
  manualSelector: flag('Makes the server leave the selector alone'),
  template: podTemplateSchema.describe('What the pods are made from'),
  ttlSecondsAfterFinished: whole('Seconds after its end when it is removed'),
  completionMode: z.enum(['Indexed', 'NonIndexed']).optional().describe('Indexed: each pod has a number'),
  suspend: flag('While true it has no pods'),
  podReplacementPolicy: z.enum(['Failed', 'TerminatingOrFailed']).optional().describe('When a pod is replaced: TerminatingOrFailed at once, Failed when it has ended'),
  managedBy: text('Controller that carries it out'),
});

const statusSchema = message(`${batch}.JobStatus`, 'State of a job', {
  conditions: z
    .array(workloadCondition(`${batch}.JobCondition`, { lastProbeTime: shownTime('When it was last looked at') }))
    .optional()
    .describe('What holds of it: Complete, Failed, Suspended, FailureTarget, SuccessCriteriaMet'),
  startTime: time('When it was started'),
  completionTime: time('When it was done'),
  active: whole('Pods that run or wait'),
  succeeded: whole('Pods that succeeded'),
  failed: whole('Pods that failed'),
  terminating: whole('Pods that are being ended'),
  ready: whole('Pods that are ready'),
  completedIndexes: text('Indexes that succeeded, such as 0,2-5'),
  failedIndexes: text('Indexes that failed'),
  uncountedTerminatedPods: message(`${batch}.UncountedTerminatedPods`, 'Pods that have ended and are not counted yet', {
    succeeded: texts('UIDs of those that succeeded'),
    failed: texts('UIDs of those that failed'),
  })
    .optional()
    .describe('Pods that have ended and are not counted yet'),
});
/** What jobs are made from. */
export type JobTemplateSpec = z.infer<typeof jobSpecSchema>;
type Defaulted = 'parallelism' | 'backoffLimit' | 'completionMode' | 'suspend' | 'manualSelector' | 'podReplacementPolicy';
export type JobSpec = Omit<JobTemplateSpec, Defaulted> & Required<Pick<JobTemplateSpec, Defaulted>>;
export type JobStatus = z.infer<typeof statusSchema>;
export type JobCondition = NonNullable<JobStatus['conditions']>[number];
export interface Job extends KubeObject<JobSpec, JobStatus> {}

export const jobSchema = objectOf('batch/v1', 'Job', 'Runs pods until enough of them have succeeded', {
  spec: jobSpecSchema.describe('Which pods are to run to their end'),
  status: statusSchema.optional().describe('What was observed of it'),
});
