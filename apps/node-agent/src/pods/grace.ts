import type { Pod } from '@roundsman/api';
import { isTerminal } from '../status/phase.ts';

/** A pod that nobody wants any more has at least this long between TERM and KILL. */
const leastOfOrphanMs = 1_000;
/** What the kubelet leaves to those that are ended last. */
const leastLeftMs = 2_000;

/** How long a pod may take to end, milliseconds; undefined when it is not to end. `isGone`: its object; `isOver`: by its own doing. */
export function graceOf({ metadata, spec, status }: Pick<Pod, 'metadata' | 'spec' | 'status'>, { isGone, isOver }: { readonly isGone: boolean; readonly isOver: boolean }): number | undefined {
  const own = spec.terminationGracePeriodSeconds * 1000;
  const asked = metadata.deletionGracePeriodSeconds === undefined ? own : metadata.deletionGracePeriodSeconds * 1000;
  if (isGone) return Math.max(leastOfOrphanMs, asked);
  if (metadata.deletionTimestamp !== undefined) return asked;
  return isOver || isTerminal(status?.phase) ? own : undefined;
}

/** What is left of it for a stop that begins later: sidecars, and what could not be ended at once. Never more than the grace, hardly ever nothing. */
export const graceLeft = (graceMs: number, endingForMs: number): number => Math.min(graceMs, Math.max(leastLeftMs, graceMs - endingForMs));
