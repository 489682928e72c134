import { z } from 'zod';
import { ageColumn, column, nameColumn, numberAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { replicaSetRules } from '../rules/workload.ts';
import { message, whole } from './fields.ts';
import { objectOf } from './object.ts';
import { containerColumns, counted, selectorColumn } from './workload/columns.ts';
import { workloadCondition } from './workload/condition.ts';
import { completeTemplate, completeTimes } from './workload/defaults.ts';
import { replicasScale } from './workload/scale.ts';
import { labelSelectorSchema } from './workload/selector.ts';
import { podTemplateSchema } from './workload/template.ts';

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

export const replicaSet: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  schema: objectOf('apps/v1', 'ReplicaSet', 'Keeps a number of like pods running', {
    spec: specSchema.describe('Which pods are wanted'),
    status: statusSchema.optional().describe('What was observed of it'),
  }),
  nullsAreAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Desired', 'integer', 'How many pods are wanted', (object) => numberAt(object, 'spec', 'replicas') ?? 0),
    column('Current', 'integer', 'How many there are', counted('replicas')),
    column('Ready', 'integer', 'How many are ready', counted('readyReplicas')),
    ageColumn,
    ...containerColumns(),
    selectorColumn(),
  ],
  fieldSelectors: ['status.replicas'],
  validate: replicaSetRules,
  scale: replicasScale,
};

function complete(object: KubeObject): void {
  const { spec, status } = object as ReplicaSet;
  completeTemplate(spec.template);
  object.status = status ?? { replicas: 0 };
  completeTimes(status?.conditions, 'lastTransitionTime');
}
