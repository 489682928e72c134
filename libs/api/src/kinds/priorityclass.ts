import { ageColumn, column, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { priorityClassRules } from '../rules/priority-class.ts';
import { priorityClassSchema } from './priorityclass/schema.ts';

export const priorityClass: Kind = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  namespaced: false,
  schema: priorityClassSchema,
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
