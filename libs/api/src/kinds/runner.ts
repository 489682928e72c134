import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { objectOf } from './object.ts';
import { runnerStatusSchema } from './task.ts';

const schema = objectOf('roundsman.io/v1', 'Runner', 'One probe-runner, kept by the runner registry from its heartbeats', {
  spec: z.object({}).optional().describe('Empty: a runner is not configured here'),
  status: runnerStatusSchema.optional(),
});

export const runner: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'Runner',
  plural: 'runners',
  singular: 'runner',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema,
  hasStatus: true,
  internal: true,
  columns: [
    nameColumn,
    column('Node', 'string', 'Node it runs on', (object) => textAt(object, 'status', 'node') ?? null),
    column('Ready', 'string', 'Whether it takes rounds', (object) => (valueAt(object, 'status', 'ready') === true ? 'True' : 'False')),
    column('Runtime', 'string', 'Runtime it belongs to', (object) => textAt(object, 'status', 'runtime') ?? null),
    ageColumn,
    column('Pod', 'string', 'Pod it runs in', (object) => textAt(object, 'status', 'pod') ?? null, { wide: true }),
    column('Version', 'string', 'Its version', (object) => textAt(object, 'status', 'version') ?? null, { wide: true }),
    column('Reason', 'string', 'Why it is not ready', (object) => textAt(object, 'status', 'reason') ?? null, { wide: true }),
  ],
  fieldSelectors: ['status.node'],
};
