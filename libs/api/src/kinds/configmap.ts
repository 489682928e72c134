import { z } from 'zod';
import { ageColumn, column, nameColumn, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { dataRules } from '../rules/data.ts';
import { objectOf } from './object.ts';

const schema = objectOf('v1', 'ConfigMap', 'Settings and texts for others to read', {
  immutable: z.boolean().optional().describe('When true, data cannot be changed any more'),
  data: z.record(z.string(), z.string()).nullish().describe('Texts by key'),
  binaryData: z.record(z.string(), z.base64()).nullish().describe('Bytes by key, base64'),
});

export const configMap: Kind = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  namespaced: true,
  schema,
  hasStatus: false,
  columns: [
    nameColumn,
    column('Data', 'integer', 'Number of keys', (object) => Object.keys(valueAt(object, 'data') ?? {}).length + Object.keys(valueAt(object, 'binaryData') ?? {}).length),
    ageColumn,
  ],
  fieldSelectors: [],
  validate: (object, context) => dataRules(object, context.old, ['data', 'binaryData']),
  generationOf: () => undefined,
};
