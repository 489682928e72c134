import type { Kind } from '../kind.ts';
import { objectOf } from './object.ts';
import { runtimeColumns } from './runtime/columns.ts';
import { runtimeSpecSchema, runtimeStatusSchema } from './runtime/schema.ts';

const schema = objectOf('roundsman.io/v1', 'Runtime', 'The runners that carry a task: the default runtime all those without agentSpec, each other one the task that it was made for', {
  spec: runtimeSpecSchema.describe('What it is made of; written by Roundsman'),
  status: runtimeStatusSchema.optional().describe('How it is, and how its runners are reached'),
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
  columns: runtimeColumns,
  fieldSelectors: ['spec.task.uid', 'status.phase'],
};
