import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { nodeRules } from '../rules/node.ts';
import { nodeSchema, type Node } from './node/schema.ts';

function statusText(node: KubeObject): string {
  const conditions = valueAt(node, 'status', 'conditions');
  const ready = Array.isArray(conditions) ? conditions.find((condition) => textAt(condition, 'type') === 'Ready') : undefined;
  const state = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return valueAt(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

const roleLabel = 'node-role.kubernetes.io/';
function rolesText(node: KubeObject): string {
  const labels = node.metadata.labels ?? {};
  const roles = new Set(Object.keys(labels).filter((key) => key.startsWith(roleLabel) && key.length > roleLabel.length).map((key) => key.slice(roleLabel.length)));
  // The older form of the same.
  if (labels['kubernetes.io/role']) roles.add(labels['kubernetes.io/role']);
  return roles.size === 0 ? '<none>' : [...roles].sort().join(',');
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
  schema: nodeSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Status', 'string', 'Whether it is ready', statusText),
    column('Roles', 'string', 'Roles, from its labels', rolesText),
    ageColumn,
    column('Version', 'string', 'Version of its agent', (object) => textAt(object, 'status', 'nodeInfo', 'kubeletVersion') ?? ''),
    column('Internal-IP', 'string', 'Address within the cluster', addressText('InternalIP'), { wide: true }),
    column('External-IP', 'string', 'Address from outside', addressText('ExternalIP'), { wide: true }),
    column('OS-Image', 'string', 'Operating system', infoText('osImage'), { wide: true }),
    column('Kernel-Version', 'string', 'Kernel', infoText('kernelVersion'), { wide: true }),
    column('Container-Runtime', 'string', 'Container runtime', infoText('containerRuntimeVersion'), { wide: true }),
  ],
  fieldSelectors: ['spec.unschedulable'],
  validate: nodeRules,
  generationOf: () => undefined,
};

/** The first range and the list of them say the same, whichever was given. */
function complete(object: KubeObject): void {
  const { spec } = object as Node;
  if (spec.podCIDR !== undefined) spec.podCIDRs ??= [spec.podCIDR];
  else if (spec.podCIDRs?.[0] !== undefined) spec.podCIDR = spec.podCIDRs[0];
}
