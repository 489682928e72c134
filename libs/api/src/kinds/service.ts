import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { letterLabelProblem } from '../names.ts';
import { serviceRules } from '../rules/service.ts';
import { serviceColumns } from './service/columns.ts';
import { completeService } from './service/defaults.ts';
import { serviceSchema, type Service } from './service/schema.ts';

export const service: Kind = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  nameProblem: letterLabelProblem,
  schema: serviceSchema,
  emptyIsAbsent: true,
  complete: (object: KubeObject) => completeService(object as Service),
  hasStatus: true,
  columns: serviceColumns,
  fieldSelectors: ['spec.clusterIP', 'spec.type'],
  validate: serviceRules,
  generationOf: () => undefined,
};
