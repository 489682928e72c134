import { completePodSpec } from '../pod/defaults.ts';
import type { PodTemplateSpec } from './template.ts';

/** Defaults of what pods are made from. Changes `template`. */
export function completeTemplate({ metadata, spec }: PodTemplateSpec): void {
  metadata.creationTimestamp ??= null;
  completePodSpec(spec);
}

/** Kubernetes shows when a condition was last told, also when it was not. Changes `conditions`. */
export function completeTimes<Name extends string>(conditions: readonly { [key in Name]?: string | null | undefined }[] | undefined, ...names: readonly Name[]): void {
  for (const condition of conditions ?? []) for (const name of names) condition[name] ??= null;
}

/** Counters that Kubernetes shows only when there is something to count. Changes `status`. */
export function dropZeros<Name extends string>(status: { [key in Name]?: number | undefined } | undefined, ...names: readonly Name[]): void {
  if (status !== undefined) for (const name of names) if (status[name] === 0) delete status[name];
}
