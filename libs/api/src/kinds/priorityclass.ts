import { z } from 'zod';
import { ageColumn, column, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { priorityClassRules } from '../rules/priority-class.ts';
import { flag, text } from './fields.ts';
import { objectOf } from './object.ts';

const schema = objectOf('scheduling.k8s.io/v1', 'PriorityClass', 'How important pods are', {
  value: z.number().int().describe('How important its pods are; higher is more'),
  globalDefault: flag('Whether it is for pods that name none'),
  description: text('When to use it'),
  preemptionPolicy: z.enum(['Never', 'PreemptLowerPriority']).default('PreemptLowerPriority').describe('Whether less important pods may be ended for its pods'),
});
export type PriorityClass = Omit<z.infer<typeof schema>, 'metadata'> & Pick<KubeObject, 'metadata'>;

export const priorityClass: Kind = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  namespaced: false,
  schema,
  hasStatus: false,
  columns: [
    nameColumn,
    column('Value', 'integer', 'How important its pods are', (object) => numberAt(object, 'value') ?? 0),
    column('Global-Default', 'boolean', 'Whether it is for pods that name none', (object) => valueAt(object, 'globalDefault') === true),
    ageColumn,
    column('PreemptionPolicy', 'string', 'Whether less important pods may be ended for its pods', (object) => textAt(object, 'preemptionPolicy') ?? ''),
  ],
  fieldSelectors: [],
  validate: priorityClassRules,
  // A class begins with generation 1 and keeps it, but for its description.
  generationOf: (object) => [valueAt(object, 'value'), valueAt(object, 'globalDefault'), valueAt(object, 'description')],
};
