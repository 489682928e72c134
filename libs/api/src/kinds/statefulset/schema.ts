import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { intOrStringSchema, message, text, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { claimTemplateSchema } from '../workload/claim.ts';
import { workloadCondition } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';
import { podTemplateSchema } from '../workload/template.ts';

const apps = 'io.k8s.api.apps.v1';
const strategySchema = message(`${apps}.StatefulSetUpdateStrategy`, 'How old pods are replaced by new ones', {
  type: z.enum(['OnDelete', 'RollingUpdate']).default('RollingUpdate').describe('RollingUpdate: one by one from the last; OnDelete: only when somebody deletes one'),
  rollingUpdate: message(`${apps}.RollingUpdateStatefulSetStrategy`, 'Limits of a rolling update', {
    partition: z.number().int().default(0).describe('Pods with a lower ordinal stay as they are'),
    maxUnavailable: intOrStringSchema.optional().describe('How many may be missing at a time'),
  })
    .optional()
    .describe('Limits of a rolling update'),
});
const retention = z.enum(['Delete', 'Retain']).default('Retain');

const specSchema = message(`${apps}.StatefulSetSpec`, 'Which pods are wanted, each with an identity of its own', {
  replicas: z.number().int().default(1).describe('How many pods are wanted'),
  selector: labelSelectorSchema.describe('Its pods, by their labels; must fit those of the template and cannot be changed'),
  template: podTemplateSchema.describe('What the pods are made from'),
  volumeClaimTemplates: z.array(claimTemplateSchema).optional().describe('Claims of which each pod gets its own'),
  serviceName: z.string().default('').describe('Service that gives the pods their names'),
  podManagementPolicy: z.enum(['OrderedReady', 'Parallel']).default('OrderedReady').describe('OrderedReady: each pod waits for the one before it'),
  updateStrategy: strategySchema.prefault({}).describe('How old pods are replaced by new ones'),
  revisionHistoryLimit: z.number().int().default(10).describe('How many old revisions are kept for a rollback'),
  minReadySeconds: whole('Seconds a pod must be ready to count as available'),
  persistentVolumeClaimRetentionPolicy: message(`${apps}.StatefulSetPersistentVolumeClaimRetentionPolicy`, 'What becomes of the claims', {
    whenDeleted: retention.describe('When the set is deleted'),
    whenScaled: retention.describe('When their pod is no longer wanted'),
  })
    .prefault({})
    .describe('What becomes of the claims of pods that go'),
  ordinals: message(`${apps}.StatefulSetOrdinals`, 'How the pods are numbered', { start: z.number().int().default(0).describe('Number of the first') })
    .optional()
    .describe('How the pods are numbered'),
});

const count = (about: string) => z.number().int().default(0).describe(about);
const statusSchema = message(`${apps}.StatefulSetStatus`, 'State of a stateful set', {
  observedGeneration: whole('Generation that this is about'),
  replicas: count('Pods there are'),
  readyReplicas: whole('Pods that are ready'),
  currentReplicas: whole('Pods of the current revision'),
  updatedReplicas: whole('Pods of the revision that is rolled out'),
  availableReplicas: count('Pods that have been ready for minReadySeconds'),
  currentRevision: text('Revision of the pods that are not yet updated'),
  updateRevision: text('Revision that is rolled out'),
  collisionCount: whole('How often the name of a revision was taken'),
  conditions: z.array(workloadCondition(`${apps}.StatefulSetCondition`, {})).optional().describe('What holds of it'),
});
export type StatefulSetSpec = z.infer<typeof specSchema>;
export type StatefulSetStatus = z.infer<typeof statusSchema>;
export interface StatefulSet extends KubeObject<StatefulSetSpec, StatefulSetStatus> {}

export const statefulSetSchema = objectOf('apps/v1', 'StatefulSet', 'Keeps a number of pods running that have names and volumes of their own', {
  spec: specSchema.describe('Which pods are wanted, each with an identity of its own'),
  status: statusSchema.optional().describe('What was observed of it'),
});
