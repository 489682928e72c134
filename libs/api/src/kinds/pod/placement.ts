import { z } from 'zod';
import { core, requiredText, text, texts, whole } from '../fields.ts';
import { labelSelectorSchema } from '../workload/selector.ts';

export const tolerationSchema = core('Toleration', 'Lets the pod onto nodes with a taint', {
  key: text('Key of the taint; all keys unless set'),
  operator: z.enum(['', 'Equal', 'Exists']).optional().describe('Exists or Equal; Equal unless set'),
  value: text('Value of the taint, for Equal'),
  effect: z.enum(['', 'NoExecute', 'NoSchedule', 'PreferNoSchedule']).optional().describe('Effect of the taint; all effects unless set'),
  tolerationSeconds: whole('For NoExecute: seconds after which the pod is evicted all the same'),
});
export type Toleration = z.infer<typeof tolerationSchema>;

const policy = z.enum(['Honor', 'Ignore']).optional();
export const topologySpreadConstraintSchema = core('TopologySpreadConstraint', 'How pods are spread over places', {
  maxSkew: z.number().int().describe('The most by which a place may have more pods than the one with the fewest'),
  topologyKey: requiredText('Label of nodes; equal values mean the same place'),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']).describe('DoNotSchedule: must hold; ScheduleAnyway: should hold'),
  labelSelector: labelSelectorSchema.optional().describe('Which pods count'),
  minDomains: whole('With fewer places than this the fewest counts as 0'),
  nodeAffinityPolicy: policy.describe('Whether nodes count that the affinity of the pod excludes; Honor unless set'),
  nodeTaintsPolicy: policy.describe('Whether nodes with taints count; Ignore unless set'),
  matchLabelKeys: texts('Labels of the pod whose values the others must have, too'),
});
export type TopologySpreadConstraint = z.infer<typeof topologySpreadConstraintSchema>;
