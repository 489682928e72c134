import { roundAnnotations, type AnyTask, type Round } from '@roundsman/api';
import type { Occurrence } from './event-folding.ts';

/** What a task's rounds have to tell, by reason, oldest first; nothing older than `sinceMs`. */
export function occurrencesOf(task: AnyTask, rounds: readonly Round[], nowMs: number, sinceMs: number): Map<string, Occurrence[]> {
  const byReason = new Map<string, Occurrence[]>();
  const add = (occurrence: Occurrence): void => {
    if (occurrence.atMs < sinceMs) return;
    byReason.set(occurrence.reason, [...(byReason.get(occurrence.reason) ?? []), occurrence]);
  };
  for (const round of [...rounds].sort((a, b) => a.spec.number - b.spec.number)) for (const occurrence of ofRound(round, nowMs)) add(occurrence);
  return byReason;
}

function ofRound(round: Round, nowMs: number): Occurrence[] {
  const { spec, status, metadata } = round;
  const { number: sequence } = spec;
  const startMs = Date.parse(spec.startTime);
  const madeMs = Date.parse(metadata.creationTimestamp);
  const told: Occurrence[] = [];
  const skipped = metadata.annotations?.[roundAnnotations.skipped];
  if (skipped !== undefined) {
    told.push({ reason: 'RoundsSkipped', type: 'Warning', message: `${Number(skipped) > 200 ? 'About ' : ''}${skipped} starts before round ${sequence} passed while nothing could run them; they have no record`, atMs: madeMs, sequence });
  }
  if (spec.trigger === 'missed') {
    told.push({ reason: 'RoundMissed', type: 'Warning', message: `Round ${sequence}, due at ${spec.startTime}, was missed: its time passed while nothing could run it`, atMs: madeMs, sequence });
    return told;
  }
  if (nowMs >= startMs) {
    const missing = spec.runners.filter(({ notReady }) => notReady !== undefined);
    const trigger = spec.trigger === 'run-now' ? ', an extra one,' : '';
    const but = missing.length === 0 ? '' : `; not ready: ${missing.map(({ runner }) => runner).slice(0, 10).join(', ')}${missing.length > 10 ? ` and ${missing.length - 10} more` : ''}`;
    const ready = spec.runners.length - missing.length;
    told.push({ reason: 'RoundStarted', type: 'Normal', message: `Round ${sequence}${trigger} started on ${ready} ${ready === 1 ? 'runner' : 'runners'}${but}`, atMs: Math.max(startMs, madeMs), sequence });
  }
  const state = status?.state;
  if (state === undefined || state === 'ongoing') return told;
  const atMs = status?.closedAt === undefined ? nowMs : Date.parse(status.closedAt);
  const summary = status?.summary === undefined ? '' : `: ${status.summary}`;
  const verdict = status?.verdict;
  // What was measured held, but not enough was measured, or not well: nothing that may be called a success.
  if (state === 'succeed' && verdict === 'suspect') told.push({ reason: 'RoundSuspect', type: 'Warning', message: `Round ${sequence} cannot be trusted${summary}`, atMs, sequence });
  else if (state === 'succeed' && verdict === 'incomplete') told.push({ reason: 'RoundIncomplete', type: 'Warning', message: `Round ${sequence} is incomplete${summary}`, atMs, sequence });
  else if (state === 'succeed') told.push({ reason: 'RoundSucceeded', type: 'Normal', message: `Round ${sequence} succeeded${summary}`, atMs, sequence });
  else if (state === 'canceled') told.push({ reason: 'RoundCanceled', type: 'Normal', message: `Round ${sequence} was canceled${summary}`, atMs, sequence });
  else told.push({ reason: 'RoundFailed', type: 'Warning', message: `Round ${sequence} failed${summary}`, atMs, sequence });
  return told;
}
