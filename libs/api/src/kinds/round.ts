import { ageColumn, column, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { objectOf } from './object.ts';
import { roundSpecSchema, roundStatusSchema } from './task.ts';

const schema = objectOf('roundsman.io/v1', 'Round', 'One round of a task: spec is the assignment to runners, status how it closed', {
  spec: roundSpecSchema,
  status: roundStatusSchema.optional(),
});

export const round: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'Round',
  plural: 'rounds',
  singular: 'round',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema,
  hasStatus: true,
  internal: true,
  columns: [
    nameColumn,
    column('Kind', 'string', 'Kind of the task', (object) => textAt(object, 'spec', 'taskRef', 'kind') ?? null),
    column('Task', 'string', 'Name of the task', (object) => textAt(object, 'spec', 'taskRef', 'name') ?? null),
    column('Round', 'integer', 'Number of the round', (object) => numberAt(object, 'spec', 'number') ?? null),
    column('State', 'string', 'How it closed', (object) => textAt(object, 'status', 'state') ?? 'ongoing'),
    ageColumn,
    column('Trigger', 'string', 'Why it was made', (object) => textAt(object, 'spec', 'trigger') ?? null, { wide: true }),
    column('Runners', 'integer', 'Runners expected to report', (object) => (valueAt(object, 'spec', 'runners') as unknown[] | undefined)?.length ?? null, { wide: true }),
    column('Summary', 'string', 'What was found, in a sentence', (object) => textAt(object, 'status', 'summary') ?? null, { wide: true }),
  ],
  fieldSelectors: ['spec.taskRef.uid', 'spec.taskRef.name', 'status.state'],
};
