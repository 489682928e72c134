import type { Kind } from '../kind.ts';
import { valueAt } from '../columns.ts';
import { endpointSliceRules } from '../rules/endpoint-slice.ts';
import { endpointSliceColumns } from './endpointslice/columns.ts';
import { endpointSliceSchema } from './endpointslice/schema.ts';

export const endpointSlice: Kind = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: endpointSliceSchema,
  emptyIsAbsent: true,
  hasStatus: false,
  columns: endpointSliceColumns,
  fieldSelectors: [],
  validate: endpointSliceRules,
  // Everything but its metadata, and its labels.
  generationOf: (object) => [valueAt(object, 'addressType'), valueAt(object, 'endpoints'), valueAt(object, 'ports'), object.metadata.labels],
};
