import type { Kind } from '../kind.ts';
import { endpointsRules } from '../rules/endpoints.ts';
import { endpointsColumns } from './endpoints/columns.ts';
import { endpointsSchema } from './endpoints/schema.ts';

export const endpoints: Kind = {
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  categories: [],
  namespaced: true,
  schema: endpointsSchema,
  emptyIsAbsent: true,
  hasStatus: false,
  columns: endpointsColumns,
  fieldSelectors: [],
  validate: endpointsRules,
  generationOf: () => undefined,
};
