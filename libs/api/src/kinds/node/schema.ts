import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { core, plainFlag, quantities, requiredText, shownTime, text, textMap, texts, time, whole } from '../fields.ts';
import { objectOf } from '../object.ts';

const conditionSchema = core('NodeCondition', 'Something that holds of a node, or not', {
  type: requiredText('What is told about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: text('One word why'),
  message: text('Why, in words'),
  lastHeartbeatTime: shownTime('When it was last heard'),
  lastTransitionTime: shownTime('When it last changed'),
});

const taintSchema = core('Taint', 'Keeps pods away that do not tolerate it', {
  key: requiredText('Name of the taint'),
  value: text('Its value'),
  effect: z.enum(['NoExecute', 'NoSchedule', 'PreferNoSchedule']).describe('NoSchedule: no new pods; PreferNoSchedule: better none; NoExecute: those that are here go, too'),
  timeAdded: time('When it was added; for NoExecute'),
});

const specSchema = core('NodeSpec', 'What is wanted of a node', {
  podCIDR: text('Addresses for the pods of this node'),
  podCIDRs: texts('The same, one per family'),
  providerID: text('Identity at the provider of the machine'),
  unschedulable: plainFlag('When true, no new pods are placed here'),
  taints: z.array(taintSchema).optional().describe('Keep pods away that do not tolerate them'),
  externalID: text('No longer used'),
});

const statusSchema = core('NodeStatus', 'State of a node', {
  capacity: quantities('What the node has'),
  allocatable: quantities('What pods may use of it'),
  phase: text('No longer used'),
  conditions: z.array(conditionSchema).optional().describe('How the node is'),
  addresses: z
    .array(core('NodeAddress', 'An address', { type: requiredText('InternalIP, ExternalIP or Hostname'), address: requiredText('The address') }))
    .optional()
    .describe('How the node is reached'),
  daemonEndpoints: core('NodeDaemonEndpoints', 'Ports of the node itself', {
    kubeletEndpoint: core('DaemonEndpoint', 'A port', { Port: z.number().int().describe('The port') }).optional().describe('Port of its agent'),
  })
    .optional()
    .describe('Ports of the node itself'),
  nodeInfo: textMap('Versions and identities of its system'),
  images: z
    .array(core('ContainerImage', 'An image', { names: texts('Its names'), sizeBytes: whole('Its size in bytes') }))
    .optional()
    .describe('Images that are there'),
  volumesInUse: texts('Volumes that are in use'),
  volumesAttached: z
    .array(core('AttachedVolume', 'A volume', { name: requiredText('Its name'), devicePath: z.string().describe('Its device') }))
    .optional()
    .describe('Volumes that are attached'),
  runtimeHandlers: z.array(z.looseObject({ name: text('Its name') })).optional().describe('What its container runtime can do'),
  features: z.looseObject({}).optional().describe('What its agent can do'),
});
export type Taint = z.infer<typeof taintSchema>;
export type NodeCondition = z.infer<typeof conditionSchema>;
export type NodeSpec = z.infer<typeof specSchema>;
export type NodeStatus = z.infer<typeof statusSchema>;
export interface Node extends KubeObject<NodeSpec, NodeStatus> {}

export const nodeSchema = objectOf('v1', 'Node', 'One node of the cluster, real or virtual', {
  spec: specSchema.prefault({}).describe('What is wanted of the node'),
  status: statusSchema.optional().describe('What was observed of the node'),
});
