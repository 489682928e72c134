import { ageColumn, column, nameColumn, numberAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { deploymentRules } from '../rules/workload.ts';
import { deploymentSchema, type Deployment } from './deployment/schema.ts';
import { containerColumns, counted, selectorColumn } from './workload/columns.ts';
import { completeTemplate, completeTimes, dropZeros } from './workload/defaults.ts';
import { replicasScale } from './workload/scale.ts';

export const deployment: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  schema: deploymentSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: [
    nameColumn,
    column('Ready', 'string', 'How many pods are ready, of how many', (object) => `${counted('readyReplicas')(object)}/${numberAt(object, 'spec', 'replicas') ?? 0}`),
    column('Up-to-date', 'string', 'Pods made from the present template', counted('updatedReplicas')),
    column('Available', 'string', 'Pods that have been ready for minReadySeconds', counted('availableReplicas')),
    ageColumn,
    ...containerColumns(),
    selectorColumn(),
  ],
  fieldSelectors: [],
  validate: deploymentRules,
  scale: replicasScale,
};

function complete(object: KubeObject): void {
  const { spec, status } = object as Deployment;
  completeTemplate(spec.template);
  if (spec.strategy.type === 'RollingUpdate') spec.strategy.rollingUpdate ??= { maxUnavailable: '25%', maxSurge: '25%' };
  object.status ??= {};
  dropZeros(status, 'replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas', 'unavailableReplicas');
  completeTimes(status?.conditions, 'lastUpdateTime', 'lastTransitionTime');
}
