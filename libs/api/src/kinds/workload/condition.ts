import { z } from 'zod';
import { message, requiredText, shownTime, text, whole } from '../fields.ts';

/** A condition of a workload; Kubernetes has one message of this form for each of them. `extra` is what only that one has. */
export const workloadCondition = <const Extra extends z.ZodRawShape>(name: string, extra: Extra) =>
  message(name, 'Something that holds, or not', {
    type: requiredText('What is told about'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
    reason: text('One word why'),
    message: text('Why, in words'),
    lastTransitionTime: shownTime('When the status last changed'),
    ...extra,
  });

/** The condition of the newer kinds, the same for all of them. */
export const metaConditionSchema = message('io.k8s.apimachinery.pkg.apis.meta.v1.Condition', 'Something that holds, or not', {
  type: requiredText('What is told about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: z.string().describe('One word why'),
  message: z.string().describe('Why, in words'),
  lastTransitionTime: z.string().describe('When the status last changed'),
  observedGeneration: whole('Generation of the object that this is about'),
});
