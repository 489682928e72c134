import { z } from 'zod';
import { core, requiredText, shownTime, text, time, whole } from '../fields.ts';
import { containerStatusSchema } from './container-status.ts';

const podConditionSchema = core('PodCondition', 'Something that holds of a pod, or not', {
  type: requiredText('What is told about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: text('One word why'),
  message: text('Why, in words'),
  lastProbeTime: shownTime('When it was last looked at'),
  lastTransitionTime: shownTime('When the status last changed'),
  observedGeneration: whole('Generation of the pod that this is about'),
});
export type PodCondition = z.infer<typeof podConditionSchema>;

const schema = core('PodStatus', 'State of a pod', {
  phase: z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']).optional().describe('Where it is in its life'),
  conditions: z.array(podConditionSchema).optional().describe('What holds of it'),
  reason: text('One word why it is in this phase'),
  message: text('Why, in words'),
  nominatedNodeName: text('Node on which others are being ended for it'),
  hostIP: text('Address of its node'),
  hostIPs: z.array(core('HostIP', 'An address', { ip: requiredText('The address') })).optional().describe('Addresses of its node'),
  podIP: text('Its address'),
  podIPs: z.array(core('PodIP', 'An address', { ip: requiredText('The address') })).optional().describe('Its addresses'),
  startTime: time('When its node took it'),
  initContainerStatuses: z.array(containerStatusSchema).optional().describe('State of its init containers'),
  containerStatuses: z.array(containerStatusSchema).optional().describe('State of its containers'),
  ephemeralContainerStatuses: z.array(containerStatusSchema).optional().describe('State of its ephemeral containers'),
  qosClass: z.enum(['BestEffort', 'Burstable', 'Guaranteed']).optional().describe('How it is treated when memory is short'),
  resize: text('How a change of its resources goes'),
  resourceClaimStatuses: z
    .array(core('PodResourceClaimStatus', 'State of a claim', { name: requiredText('Name of the claim'), resourceClaimName: text('The claim that was made') }))
    .optional()
    .describe('State of its claims'),
});
export type PodStatus = z.output<typeof schema>;
export const podStatusSchema: z.ZodType<PodStatus, z.input<typeof schema>> = schema;
