import type { Runtime, RuntimeStatus } from '@roundsman/api';
import type { Happening } from '@roundsman/reconcile';
import { sentence } from './conditions.ts';

const readyWords = ({ conditions }: RuntimeStatus): string => sentence(conditions.find(({ type }) => type === 'Ready')?.message ?? '');

/** What the step to this status tells people. */
export function runtimeHappening({ spec, status: before }: Runtime, after: RuntimeStatus): Happening | undefined {
  // Of processes each tells of itself.
  if (before?.phase === after.phase || spec.kind === 'Process') return undefined;
  const name = `${spec.kind} ${spec.workload ?? ''}`;
  if (after.phase === 'Ready') return ['Normal', 'RuntimeReady', `${name}: ${readyWords(after)}`];
  if (after.phase === 'Degraded') return ['Warning', 'RuntimeDegraded', `${name}: ${readyWords(after)}${before?.settledAt === undefined ? ' Rounds begin without what is missing.' : ''}`];
  return undefined;
}
