import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { intOrStringSchema, message, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { metaConditionSchema } from '../workload/condition.ts';
import { labelSelectorSchema } from '../workload/selector.ts';

const specSchema = message('io.k8s.api.policy.v1.PodDisruptionBudgetSpec', 'How many pods may be missing', {
  minAvailable: intOrStringSchema.optional().describe('How many must stay, or which percentage'),
  maxUnavailable: intOrStringSchema.optional().describe('How many may be missing, or which percentage'),
  selector: labelSelectorSchema.optional().describe('Which pods; an empty selector means all of the namespace'),
  unhealthyPodEvictionPolicy: z.enum(['AlwaysAllow', 'IfHealthyBudget']).optional().describe('Whether pods that are not ready may be evicted in any case'),
});
const count = (about: string) => z.number().int().default(0).describe(about);
const statusSchema = message('io.k8s.api.policy.v1.PodDisruptionBudgetStatus', 'State of a budget', {
  observedGeneration: whole('Generation that this is about'),
  disruptedPods: z.record(z.string(), z.string()).optional().describe('Pods whose eviction was granted and that are still there, with the time of it'),
  disruptionsAllowed: count('How many may be evicted now'),
  currentHealthy: count('Pods that are ready'),
  desiredHealthy: count('Pods that must be ready'),
  expectedPods: count('Pods that count'),
  conditions: z.array(metaConditionSchema).optional().describe('What holds of it: DisruptionAllowed'),
});
export type PodDisruptionBudgetSpec = z.infer<typeof specSchema>;
export type PodDisruptionBudgetStatus = z.infer<typeof statusSchema>;
export interface PodDisruptionBudget extends KubeObject<PodDisruptionBudgetSpec, PodDisruptionBudgetStatus> {}

export const podDisruptionBudgetSchema = objectOf('policy/v1', 'PodDisruptionBudget', 'Limits how many pods may be evicted at a time', {
  spec: specSchema.prefault({}).describe('How many pods may be missing'),
  status: statusSchema.optional().describe('What was observed of it'),
});
