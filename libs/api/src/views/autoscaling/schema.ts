import { z } from 'zod';
import { message, requiredText, text, time, whole } from '../../kinds/fields.ts';
import { objectOf } from '../../kinds/object.ts';

const prefix = 'io.k8s.api.autoscaling.v1';

const specSchema = message(`${prefix}.HorizontalPodAutoscalerSpec`, 'What is scaled, and between which numbers', {
  scaleTargetRef: message(`${prefix}.CrossVersionObjectReference`, 'Names an object in the same namespace', { kind: requiredText('Its kind'), name: requiredText('Its name'), apiVersion: text('Its API version') })
    .describe('What is scaled: a Deployment, ReplicaSet or StatefulSet'),
  minReplicas: z.number().int().default(1).describe('The fewest pods'),
  maxReplicas: z.number().int().describe('The most pods; not less than minReplicas'),
  targetCPUUtilizationPercentage: whole('Processor time that pods are to use, on the average, in percent of what they request. Default: 80'),
});
const statusSchema = message(`${prefix}.HorizontalPodAutoscalerStatus`, 'State of an autoscaler', {
  observedGeneration: whole('Generation that this is about'),
  lastScaleTime: time('When the number of pods was last changed'),
  currentReplicas: z.number().int().default(0).describe('Pods there are'),
  desiredReplicas: z.number().int().default(0).describe('Pods that are wanted'),
  currentCPUUtilizationPercentage: whole('Processor time that pods use, on the average, in percent of what they request'),
});
export type AutoscalerSpecV1 = z.infer<typeof specSchema>;
export type AutoscalerStatusV1 = z.infer<typeof statusSchema>;

/** `autoscaling/v1`: scaling by processor time alone; annotations hold the rest. */
export const autoscalerV1Schema = objectOf('autoscaling/v1', 'HorizontalPodAutoscaler', 'Keeps as many pods as are needed for the processor time that they use to come near a target', {
  spec: specSchema.describe('What is scaled, and between which numbers'),
  status: statusSchema.optional().describe('What was observed of it'),
});
