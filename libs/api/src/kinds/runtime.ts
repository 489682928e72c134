import { ageColumn, column, nameColumn, numberAt, textAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { objectOf } from './object.ts';
import { runtimeSpecSchema, runtimeStatusSchema } from './runtime/schema.ts';

const schema = objectOf('roundsman.io/v1', 'Runtime', 'The runners that carry a task, or all tasks that have none of their own', {
  spec: runtimeSpecSchema,
  status: runtimeStatusSchema.optional(),
});

export const runtime: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'Runtime',
  plural: 'runtimes',
  singular: 'runtime',
  shortNames: ['rt'],
  categories: ['roundsman'],
  namespaced: true,
  schema,
  hasStatus: true,
  internal: true,
  columns: [
    nameColumn,
    column('Kind', 'string', 'Kind of the workload', (object) => textAt(object, 'spec', 'kind') ?? null),
    column('Ready', 'string', 'Ready runners of those there are to be', (object) => `${numberAt(object, 'status', 'ready') ?? 0}/${numberAt(object, 'status', 'desired') ?? 0}`),
    column('Phase', 'string', 'How it is', (object) => textAt(object, 'status', 'phase') ?? 'Creating'),
    column('Task', 'string', 'The task that it carries', (object) => taskOf(textAt(object, 'spec', 'task', 'kind'), textAt(object, 'spec', 'task', 'name'))),
    ageColumn,
  ],
  fieldSelectors: ['spec.task.uid', 'status.phase'],
};

const taskOf = (kind: string | undefined, name: string | undefined): string => (kind === undefined ? '<all>' : `${kind.toLowerCase()}/${name ?? ''}`);
