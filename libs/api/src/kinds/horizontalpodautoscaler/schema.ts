import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { emptyIsSaid } from '../../validation/empties.ts';
import { message, requiredText, time, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { workloadCondition } from '../workload/condition.ts';
import { metricSpecSchema, metricStatusSchema, objectReferenceSchema } from './metric.ts';

const prefix = 'io.k8s.api.autoscaling.v2';

const policySchema = message(`${prefix}.HPAScalingPolicy`, 'How many pods may come or go in how much time', {
  type: requiredText('Pods: a number; Percent: a share of those there were'),
  value: z.number().int().describe('How many, or how many percent'),
  periodSeconds: z.number().int().describe('Seconds in which it holds, at most 1800'),
});
const rulesSchema = message(`${prefix}.HPAScalingRules`, 'How fast to scale in one direction', {
  stabilizationWindowSeconds: whole('Seconds of recommendations that are looked back on, at most 3600: upwards the lowest counts (default 0), downwards the highest (default: a setting of the cluster, 300)'),
  selectPolicy: z.string().optional().describe('Which policy counts: Max (the one that lets change most; the default), Min, or Disabled: no change in this direction'),
  policies: emptyIsSaid(z.array(policySchema).optional().describe('Limits of the change; at least one')),
});

const behaviorSchema = message(`${prefix}.HorizontalPodAutoscalerBehavior`, 'How fast to scale', {
  scaleUp: rulesSchema.optional().describe('How fast there may be more. Default: 4 pods or 100 percent in 15 seconds, whichever is more'),
  scaleDown: rulesSchema.optional().describe('How fast there may be fewer. Default: 100 percent in 15 seconds'),
});

const specSchema = message(`${prefix}.HorizontalPodAutoscalerSpec`, 'What is scaled, by what, and how', {
  scaleTargetRef: objectReferenceSchema.describe('What is scaled: a Deployment, ReplicaSet or StatefulSet'),
  minReplicas: z.number().int().default(1).describe('The fewest pods'),
  maxReplicas: z.number().int().describe('The most pods; not less than minReplicas'),
  metrics: z.array(metricSpecSchema).optional().describe('What to scale by; the one that asks for most pods counts. Default: 80 % of the processor time that is requested'),
  behavior: behaviorSchema.optional().describe('How fast to scale'),
});

const conditionSchema = workloadCondition(`${prefix}.HorizontalPodAutoscalerCondition`, {});
const statusSchema = message(`${prefix}.HorizontalPodAutoscalerStatus`, 'State of an autoscaler', {
  observedGeneration: whole('Generation that this is about'),
  lastScaleTime: time('When the number of pods was last changed'),
  currentReplicas: z.number().int().min(0).optional().describe('Pods there are'),
  desiredReplicas: z.number().int().min(0).default(0).describe('Pods that are wanted'),
  currentMetrics: z.array(metricStatusSchema).nullish().describe('What was last read of its metrics, in the order of the spec'),
  conditions: z.array(conditionSchema).optional().describe('What holds of it: AbleToScale, ScalingActive, ScalingLimited'),
});

export type ScalingPolicy = z.infer<typeof policySchema>;
export type ScalingBehavior = z.infer<typeof behaviorSchema>;
export type ScalingRules = z.infer<typeof rulesSchema>;
export type HorizontalPodAutoscalerSpec = z.infer<typeof specSchema>;
export type HorizontalPodAutoscalerStatus = z.infer<typeof statusSchema>;
export type HorizontalPodAutoscalerCondition = z.infer<typeof conditionSchema>;
export interface HorizontalPodAutoscaler extends KubeObject<HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus> {}

export const horizontalPodAutoscalerSchema = objectOf('autoscaling/v2', 'HorizontalPodAutoscaler', 'Keeps as many pods as are needed for what they use to come near a target', {
  spec: specSchema.describe('What is scaled, by what, and how'),
  status: statusSchema.optional().describe('What was observed of it'),
});
