import { z } from 'zod';
import type { Kind } from '../kind.ts';
import { objectOf } from './object.ts';
import { reportColumns, reportStatusSchema } from './report.ts';

/** Every kept round, also of deleted tasks. */
export const roundReport: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'RoundReport',
  plural: 'roundreports',
  singular: 'roundreport',
  shortNames: ['rr'],
  categories: [],
  namespaced: true,
  schema: objectOf('roundsman.io/v1', 'RoundReport', 'The outcome of one round of a task; kept when the task is deleted, named <kind>-<task>-<uid8>-<round>', {
    spec: z.looseObject({}).optional().describe('The task as it was in this round'),
    status: reportStatusSchema.optional(),
  }),
  hasStatus: false,
  virtual: true,
  columns: reportColumns,
  fieldSelectors: [],
};
