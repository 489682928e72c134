import { ageColumn, column, nameColumn, numberAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { replicaSetRules } from '../rules/workload.ts';
import { replicaSetSchema, type ReplicaSet } from './replicaset/schema.ts';
import { containerColumns, counted, selectorColumn } from './workload/columns.ts';
import { completeTemplate, completeTimes, dropZeros } from './workload/defaults.ts';
import { replicasScale } from './workload/scale.ts';

export const replicaSet: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  schema: replicaSetSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Desired', 'integer', 'How many pods are wanted', (object) => numberAt(object, 'spec', 'replicas') ?? 0),
    column('Current', 'integer', 'How many there are', counted('replicas')),
    column('Ready', 'integer', 'How many are ready', counted('readyReplicas')),
    ageColumn,
    ...containerColumns(),
    selectorColumn(),
  ],
  fieldSelectors: ['status.replicas'],
  validate: replicaSetRules,
  scale: replicasScale,
};

function complete(object: KubeObject): void {
  const { spec, status } = object as ReplicaSet;
  completeTemplate(spec.template);
  dropZeros(status, 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas');
  object.status = status ?? { replicas: 0 };
  completeTimes(status?.conditions, 'lastTransitionTime');
}
