import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { intOrStringSchema, message, plainFlag, shownTime, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { workloadCondition } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { podTemplateSchema } from '../workload/template.ts';

const strategySchema = message('io.k8s.api.apps.v1.DeploymentStrategy', 'How old pods are replaced by new ones', {
  type: z.enum(['Recreate', 'RollingUpdate']).default('RollingUpdate').describe('RollingUpdate: bit by bit; Recreate: all end before the first new one starts'),
  rollingUpdate: message('io.k8s.api.apps.v1.RollingUpdateDeployment', 'Limits of a rolling update', {
    maxUnavailable: intOrStringSchema.default('25%').describe('How many may be missing at a time, rounded down'),
    maxSurge: intOrStringSchema.default('25%').describe('How many there may be in excess at a time, rounded up'),
  })
    .optional()
    .describe('Limits of a rolling update'),
});

const specSchema = message('io.k8s.api.apps.v1.DeploymentSpec', 'Which pods are wanted, and how they are replaced', {
  replicas: z.number().int().default(1).describe('How many pods are wanted'),
  selector: labelSelectorSchema.describe('Its pods, by their labels; must fit those of the template and cannot be changed'),
  template: podTemplateSchema.describe('What the pods are made from'),
  strategy: strategySchema.prefault({}).describe('How old pods are replaced by new ones'),
  minReadySeconds: whole('Seconds a pod must be ready to count as available'),
  revisionHistoryLimit: z.number().int().default(10).describe('How many old replica sets are kept for a rollback'),
  paused: plainFlag('While true changes of the template are not rolled out'),
  progressDeadlineSeconds: z.number().int().default(600).describe('Seconds without progress after which a roll-out counts as failed'),
});

const statusSchema = message('io.k8s.api.apps.v1.DeploymentStatus', 'State of a deployment', {
  observedGeneration: whole('Generation that this is about'),
  replicas: whole('Pods there are'),
  updatedReplicas: whole('Pods made from the present template'),
  readyReplicas: whole('Pods that are ready'),
  availableReplicas: whole('Pods that have been ready for minReadySeconds'),
  unavailableReplicas: whole('Pods that are missing for it to be available in full'),
  conditions: z
    .array(workloadCondition('io.k8s.api.apps.v1.DeploymentCondition', { lastUpdateTime: shownTime('When it was last told') }))
    .optional()
    .describe('What holds of it: Available, Progressing, ReplicaFailure'),
  collisionCount: whole('How often the name of a replica set was taken'),
});
export type DeploymentSpec = z.infer<typeof specSchema>;
export type DeploymentStatus = z.infer<typeof statusSchema>;
export type DeploymentCondition = NonNullable<DeploymentStatus['conditions']>[number];
export interface Deployment extends KubeObject<DeploymentSpec, DeploymentStatus> {}

export const deploymentSchema = objectOf('apps/v1', 'Deployment', 'Keeps a number of like pods running and replaces them bit by bit when their template changes', {
  spec: specSchema.describe('Which pods are wanted, and how they are replaced'),
  status: statusSchema.optional().describe('What was observed of it'),
});
