import { ageColumn, column, humanDuration, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import type { Job } from './schema.ts';
import { containerColumns, selectorColumn } from '../workload/columns.ts';

function statusText(object: KubeObject): string {
  const { metadata, status } = object as Job;
  const holds = (type: string): boolean => (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (holds('Suspended')) return 'Suspended';
  return holds('FailureTarget') ? 'FailureTarget' : 'Running';
}

function completionsText(object: KubeObject): string {
  const { spec, status } = object as Job;
  const succeeded = status?.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  return spec.parallelism > 1 ? `${succeeded}/1 of ${spec.parallelism}` : `${succeeded}/1`;
}

/** From its start to its end, or until now. */
function durationText(object: KubeObject, now: number): string {
  const { startTime, completionTime } = (object as Job).status ?? {};
  if (startTime === undefined) return '';
  return humanDuration((completionTime === undefined ? now : Date.parse(completionTime)) - Date.parse(startTime));
}

export const jobColumns: readonly Column[] = [
  nameColumn,
  column('Status', 'string', 'Whether it runs, or how it ended', statusText),
  column('Completions', 'string', 'How many pods succeeded, of how many', completionsText),
  column('Duration', 'string', 'From its start to its end', durationText),
  ageColumn,
  ...containerColumns(),
  selectorColumn(),
];
