import { z } from 'zod';
import { ageOf, column, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Column, Kind } from '../kind.ts';
import { reportBodySchema } from '../round/report.ts';
import { objectOf } from './object.ts';

export const reportStatusSchema = reportBodySchema.describe('What was measured and what it means');

const count = (...path: string[]) => (object: unknown): number => (valueAt(object, 'status', ...path) as unknown[] | undefined)?.length ?? 0;
/** Microseconds as people read them: `840us`, `3.2ms`, `1.50s`. */
export function latencyText(us: number | undefined): string | null {
  if (us === undefined) return null;
  if (us < 1000) return `${Math.round(us)}us`;
  if (us < 1_000_000) return `${(us / 1000).toFixed(us < 100_000 ? 1 : 0)}ms`;
  return `${(us / 1_000_000).toFixed(2)}s`;
}

/** null where nothing was to be measured, or nothing was sent before the round was canceled: 0% would say that all of it failed. */
function successText(object: unknown): string | null {
  const rate = numberAt(object, 'status', 'successRate');
  const total = (name: string): number | undefined => numberAt(object, 'status', 'totals', name);
  const nothing = total('sent') === 0 && (total('planned') === 0 || textAt(object, 'status', 'state') === 'canceled');
  return rate === undefined || nothing ? null : `${Math.floor(rate * 10_000) / 100}%`;
}

export const reportColumns: readonly Column[] = [
  nameColumn,
  column('Kind', 'string', 'Kind of the task', (object) => textAt(object, 'status', 'kind') ?? null),
  column('Task', 'string', 'Name of the task', (object) => textAt(object, 'status', 'task') ?? null),
  column('Round', 'integer', 'Number of the round', (object) => numberAt(object, 'status', 'round') ?? null),
  column('State', 'string', 'How the round closed', (object) => textAt(object, 'status', 'state') ?? null),
  column('Verdict', 'string', 'Worst state found', (object) => textAt(object, 'status', 'verdict', 'state') ?? null),
  column('Success', 'string', 'Successful share of the planned requests', successText),
  column('P50', 'string', 'Median latency of the successful requests', (object) => latencyText(numberAt(object, 'status', 'latency', 'p50Us'))),
  column('P99', 'string', '99th percentile of the latency of the successful requests', (object) => latencyText(numberAt(object, 'status', 'latency', 'p99Us'))),
  column('Age', 'string', 'Time since the round was closed', (object, now) => ageOf(valueAt(object, 'status', 'endTime') ?? object.metadata.creationTimestamp, now)),
  column('OK', 'integer', 'Nodes on which everything held', count('nodes', 'succeeded'), { wide: true }),
  column('Failed', 'integer', 'Nodes on which something did not', count('nodes', 'failed'), { wide: true }),
  column('Missing', 'integer', 'Runners that did not report', count('missing'), { wide: true }),
  column('Summary', 'string', 'What is broken, in a sentence', (object) => textAt(object, 'status', 'summary') ?? null, { wide: true }),
];

const members = { spec: z.looseObject({}).optional().describe('The task as it was in this round'), status: reportStatusSchema.optional() };

/** The last closed round of an existing task. */
export const report: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'Report',
  plural: 'reports',
  singular: 'report',
  shortNames: ['rep'],
  categories: ['roundsman'],
  namespaced: true,
  schema: objectOf('roundsman.io/v1', 'Report', 'The outcome of the last closed round of a task; one per task, named <kind>-<task>', members),
  hasStatus: false,
  virtual: true,
  columns: reportColumns,
  fieldSelectors: [],
};
