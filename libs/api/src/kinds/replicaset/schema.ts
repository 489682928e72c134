import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { message, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { workloadCondition } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { podTemplateSchema } from '../workload/template.ts';

const specSchema = message('io.k8s.api.apps.v1.ReplicaSetSpec', 'Which pods are wanted', {
  replicas: z.number().int().default(1).describe('How many pods are wanted'),
  minReadySeconds: whole('Seconds a pod must be ready to count as available'),
  selector: labelSelectorSchema.describe('Its pods, by their labels; must fit those of the template and cannot be changed'),
  template: podTemplateSchema.describe('What the pods are made from'),
});

const statusSchema = message('io.k8s.api.apps.v1.ReplicaSetStatus', 'State of a replica set', {
  replicas: z.number().int().default(0).describe('Pods there are'),
  fullyLabeledReplicas: whole('Pods that have all labels of the template'),
  readyReplicas: whole('Pods that are ready'),
  availableReplicas: whole('Pods that have been ready for minReadySeconds'),
  observedGeneration: whole('Generation that this is about'),
  conditions: z.array(workloadCondition('io.k8s.api.apps.v1.ReplicaSetCondition', {})).optional().describe('What holds of it: ReplicaFailure'),
});
export type ReplicaSetSpec = z.infer<typeof specSchema>;
export type ReplicaSetStatus = z.infer<typeof statusSchema>;
export interface ReplicaSet extends KubeObject<ReplicaSetSpec, ReplicaSetStatus> {}

export const replicaSetSchema = objectOf('apps/v1', 'ReplicaSet', 'Keeps a number of like pods running', {
  spec: specSchema.describe('Which pods are wanted'),
  status: statusSchema.optional().describe('What was observed of it'),
});
