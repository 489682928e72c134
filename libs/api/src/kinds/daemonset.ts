import { ageColumn, column, nameColumn, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { daemonSetRules } from '../rules/workload.ts';
import { daemonSetSchema, type DaemonSet } from './daemonset/schema.ts';
import { containerColumns, counted, selectorColumn } from './workload/columns.ts';
import { completeTemplate, completeTimes, dropZeros } from './workload/defaults.ts';

export const daemonSet: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  schema: daemonSetSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Desired', 'integer', 'Nodes that should have a pod', counted('desiredNumberScheduled')),
    column('Current', 'integer', 'Nodes that should have a pod and have one', counted('currentNumberScheduled')),
    column('Ready', 'integer', 'Nodes whose pod is ready', counted('numberReady')),
    column('Up-to-date', 'integer', 'Nodes whose pod is made from the present template', counted('updatedNumberScheduled')),
    column('Available', 'integer', 'Nodes whose pod has been ready for minReadySeconds', counted('numberAvailable')),
    column('Node Selector', 'string', 'Labels that the nodes must have', nodeSelectorText),
    ageColumn,
    ...containerColumns(),
    selectorColumn(),
  ],
  fieldSelectors: [],
  validate: daemonSetRules,
};

function nodeSelectorText(object: KubeObject): string {
  const labels = Object.entries((valueAt(object, 'spec', 'template', 'spec', 'nodeSelector') ?? {}) as Record<string, string>);
  return labels.length === 0 ? '<none>' : labels.map(([key, value]) => `${key}=${value}`).sort().join(',');
}

function complete(object: KubeObject): void {
  const { spec, status } = object as DaemonSet;
  completeTemplate(spec.template);
  if (spec.updateStrategy.type === 'RollingUpdate') spec.updateStrategy.rollingUpdate ??= { maxUnavailable: 1, maxSurge: 0 };
  dropZeros(status, 'updatedNumberScheduled', 'numberAvailable', 'numberUnavailable');
  object.status = status ?? { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  completeTimes(status?.conditions, 'lastTransitionTime');
}
