import { intervalMs, roundAnnotations, ScheduleError, type Round, type ScheduleForm } from '@roundsman/api';

/** Longest time for which a round stays open after its deadline for runners that are still at work on it, milliseconds. */
const longestMs = 5_000;
/** The next round of a task is made so long before its start, and not while this one is open. */
const leadMs = 1_000;

/**
 * How long this round may be left open after its deadline, milliseconds: a busy machine hands over late what was measured in time. None where
 * the next round of its task would have to wait for that.
 */
export function patienceMs({ metadata, spec: { startTime, deadline, trigger, taskSpec } }: Round): number {
  const scheduled = metadata.annotations?.[roundAnnotations.lastScheduledStart] ?? (trigger === 'schedule' ? startTime : undefined);
  // Run before its schedule has begun: the next one may come at any time.
  if (scheduled === undefined) return 0;
  const { schedule = {} } = taskSpec as { schedule?: ScheduleForm };
  return Math.max(0, Math.min(longestMs, Date.parse(scheduled) + gapMs(schedule) - leadMs - Date.parse(deadline)));
}

function gapMs(schedule: ScheduleForm): number {
  try {
    return intervalMs(schedule) ?? Number.POSITIVE_INFINITY;
  } catch (error) {
    // Of a version with other rules: its task gets no next round until it is corrected.
    if (error instanceof ScheduleError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
