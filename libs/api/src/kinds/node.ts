import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { objectOf } from './object.ts';

const addressSchema = z.object({ type: z.string().describe('InternalIP, ExternalIP or Hostname'), address: z.string().describe('The address') });
const nodeConditionSchema = z.looseObject({
  type: z.string().describe('What is told about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: z.string().optional().describe('One word why'),
  message: z.string().optional().describe('Why, in words'),
  lastHeartbeatTime: z.string().nullish().describe('When it was last heard'),
  lastTransitionTime: z.string().nullish().describe('When it last changed'),
});

const schema = objectOf('v1', 'Node', 'One node of the cluster, real or virtual', {
  spec: z
    .looseObject({
      podCIDR: z.string().optional().describe('Addresses for the pods of this node'),
      podCIDRs: z.array(z.string()).optional().describe('The same, one per family'),
      providerID: z.string().optional().describe('Identity at the provider of the machine'),
      unschedulable: z.boolean().optional().describe('When true, no new pods are placed here'),
      taints: z
        .array(z.looseObject({ key: z.string().describe('Name of the taint'), value: z.string().optional().describe('Its value'), effect: z.string().describe('NoSchedule, PreferNoSchedule or NoExecute') }))
        .optional()
        .describe('Keep pods away that do not tolerate them'),
    })
    .optional()
    .describe('What is wanted of the node'),
  status: z
    .looseObject({
      capacity: z.record(z.string(), z.string()).optional().describe('What the node has'),
      allocatable: z.record(z.string(), z.string()).optional().describe('What pods may use of it'),
      conditions: z.array(nodeConditionSchema).optional().describe('How the node is'),
      addresses: z.array(addressSchema).optional().describe('How the node is reached'),
      nodeInfo: z.record(z.string(), z.string()).optional().describe('Versions and identities of its system'),
    })
    .optional()
    .describe('What was observed of the node'),
});

function statusText(node: KubeObject): string {
  const conditions = valueAt(node, 'status', 'conditions');
  const ready = Array.isArray(conditions) ? conditions.find((condition) => textAt(condition, 'type') === 'Ready') : undefined;
  const state = { True: 'Ready', False: 'NotReady' }[textAt(ready, 'status') ?? ''] ?? 'Unknown';
  return valueAt(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

const roleLabel = 'node-role.kubernetes.io/';
function rolesText(node: KubeObject): string {
  const roles = Object.keys(node.metadata.labels ?? {}).filter((key) => key.startsWith(roleLabel) && key.length > roleLabel.length);
  return roles.length === 0 ? '<none>' : roles.map((key) => key.slice(roleLabel.length)).sort().join(',');
}

function addressText(type: string): (node: KubeObject) => string {
  return (node) => {
    const addresses = valueAt(node, 'status', 'addresses');
    return (Array.isArray(addresses) ? textAt(addresses.find((one) => textAt(one, 'type') === type), 'address') : undefined) ?? '<none>';
  };
}
const infoText = (member: string) => (node: KubeObject): string => textAt(node, 'status', 'nodeInfo', member) ?? '<unknown>';

export const node: Kind = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  namespaced: false,
  schema,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Status', 'string', 'Whether it is ready', statusText),
    column('Roles', 'string', 'Roles, from its labels', rolesText),
    ageColumn,
    column('Version', 'string', 'Version of its agent', infoText('kubeletVersion')),
    column('Internal-IP', 'string', 'Address within the cluster', addressText('InternalIP'), { wide: true }),
    column('External-IP', 'string', 'Address from outside', addressText('ExternalIP'), { wide: true }),
    column('OS-Image', 'string', 'Operating system', infoText('osImage'), { wide: true }),
    column('Kernel-Version', 'string', 'Kernel', infoText('kernelVersion'), { wide: true }),
    column('Container-Runtime', 'string', 'Container runtime', infoText('containerRuntimeVersion'), { wide: true }),
  ],
  fieldSelectors: ['spec.unschedulable'],
};
