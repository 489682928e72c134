import { ageColumn, column, nameColumn, numberAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { statefulSetRules } from '../rules/workload.ts';
import { statefulSetSchema, type StatefulSet } from './statefulset/schema.ts';
import { containerColumns, counted } from './workload/columns.ts';
import { completeTemplate, completeTimes, dropZeros } from './workload/defaults.ts';
import { replicasScale } from './workload/scale.ts';

export const statefulSet: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  namespaced: true,
  schema: statefulSetSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Ready', 'string', 'How many pods are ready, of how many', (object) => `${counted('readyReplicas')(object)}/${numberAt(object, 'spec', 'replicas') ?? 0}`),
    ageColumn,
    ...containerColumns(),
  ],
  fieldSelectors: [],
  validate: statefulSetRules,
  scale: replicasScale,
};

function complete(object: KubeObject): void {
  const { spec, status } = object as StatefulSet;
  completeTemplate(spec.template);
  if (spec.updateStrategy.type === 'RollingUpdate') spec.updateStrategy.rollingUpdate ??= { partition: 0 };
  for (const { metadata } of spec.volumeClaimTemplates ?? []) metadata.creationTimestamp ??= null;
  dropZeros(status, 'readyReplicas', 'currentReplicas', 'updatedReplicas');
  object.status = status ?? { replicas: 0, availableReplicas: 0 };
  completeTimes(status?.conditions, 'lastTransitionTime');
}
