import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { intOrStringSchema, message, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { workloadCondition } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { podTemplateSchema } from '../workload/template.ts';

const strategySchema = message('io.k8s.api.apps.v1.DaemonSetUpdateStrategy', 'How old pods are replaced by new ones', {
  type: z.enum(['OnDelete', 'RollingUpdate']).default('RollingUpdate').describe('RollingUpdate: node by node; OnDelete: only when somebody deletes one'),
  rollingUpdate: message('io.k8s.api.apps.v1.RollingUpdateDaemonSet', 'Limits of a rolling update', {
    maxUnavailable: intOrStringSchema.default(1).describe('How many may be missing at a time'),
    maxSurge: intOrStringSchema.default(0).describe('How many nodes may have an old and a new one at a time'),
  })
    .optional()
    .describe('Limits of a rolling update'),
});

const specSchema = message('io.k8s.api.apps.v1.DaemonSetSpec', 'Which pod each node gets', {
  selector: labelSelectorSchema.describe('Its pods, by their labels; must fit those of the template and cannot be changed'),
  template: podTemplateSchema.describe('What the pods are made from'),
  updateStrategy: strategySchema.prefault({}).describe('How old pods are replaced by new ones'),
  minReadySeconds: whole('Seconds a pod must be ready to count as available'),
  revisionHistoryLimit: z.number().int().default(10).describe('How many old revisions are kept for a rollback'),
});

const count = (about: string) => z.number().int().default(0).describe(about);
const statusSchema = message('io.k8s.api.apps.v1.DaemonSetStatus', 'State of a daemon set', {
  currentNumberScheduled: count('Nodes that should have a pod and have one'),
  numberMisscheduled: count('Nodes that have a pod and should not'),
  desiredNumberScheduled: count('Nodes that should have a pod'),
  numberReady: count('Nodes whose pod is ready'),
  observedGeneration: whole('Generation that this is about'),
  updatedNumberScheduled: whole('Nodes whose pod is made from the present template'),
  numberAvailable: whole('Nodes whose pod has been ready for minReadySeconds'),
  numberUnavailable: whole('Nodes that should have an available pod and have none'),
  collisionCount: whole('How often the name of a revision was taken'),
  conditions: z.array(workloadCondition('io.k8s.api.apps.v1.DaemonSetCondition', {})).optional().describe('What holds of it'),
});
export type DaemonSetSpec = z.infer<typeof specSchema>;
export type DaemonSetStatus = z.infer<typeof statusSchema>;
export interface DaemonSet extends KubeObject<DaemonSetSpec, DaemonSetStatus> {}

export const daemonSetSchema = objectOf('apps/v1', 'DaemonSet', 'Keeps one pod running on every node that fits', {
  spec: specSchema.describe('Which pod each node gets'),
  status: statusSchema.optional().describe('What was observed of it'),
});
