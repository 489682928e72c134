import { roundAnnotations, type AnyTask, type KubeObject, type Round } from '@roundsman/api';
import { wholeSeconds } from './task-status.ts';

/** core/v1 Event, as far as it is written here. */
export interface EventObject {
  apiVersion: 'v1';
  kind: 'Event';
  metadata: Partial<KubeObject['metadata']> & { name: string; namespace: string };
  involvedObject: { apiVersion: string; kind: string; name: string; namespace?: string; uid: string };
  reason: string;
  message: string;
  type: 'Normal' | 'Warning';
  source: { component: string };
  reportingComponent: string;
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
}

/** Something that happened to an object, once. */
export interface Occurrence {
  readonly reason: string;
  readonly type: 'Normal' | 'Warning';
  readonly message: string;
  readonly atMs: number;
  /** Orders occurrences of one reason: those up to the last one told are not told again. Absent: always new. */
  readonly sequence?: number;
}

/** On an Event: the last sequence it tells of, so that telling twice is telling once. */
export const toldAnnotation = 'roundsman.io/told';
const component = 'roundsman-controllers';
/** Of the object's name in the name of an Event, leaving room for reason and uid. */
const nameLimit = 180;

/** One Event per object and reason: its count says how often, its message tells of the last. */
export const eventName = (object: Pick<KubeObject, 'metadata'>, reason: string): string =>
  `${object.metadata.name.slice(0, nameLimit).replace(/[^a-z0-9]+$/, '')}.${reason.toLowerCase()}.${object.metadata.uid.slice(0, 8)}`;

/**
 * The Event with these occurrences added; undefined when it tells all of them already. Occurrences are of one reason, oldest first.
 */
export function foldEvent(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, existing: EventObject | undefined, occurrences: readonly Occurrence[], owned: boolean): EventObject | undefined {
  const told = Number(existing?.metadata.annotations?.[toldAnnotation] ?? 0);
  const fresh = occurrences.filter(({ sequence }) => sequence === undefined || sequence > told);
  const last = fresh.at(-1);
  const first = fresh[0];
  if (last === undefined || first === undefined) return undefined;
  const { name, namespace, uid } = object.metadata;
  const { apiVersion, kind } = object;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: existing?.metadata === undefined
      ? {
          name: eventName(object, last.reason),
          namespace: namespace ?? 'default',
          ...(owned ? { ownerReferences: [{ apiVersion, kind, name, uid }] } : {}),
          annotations: { [toldAnnotation]: String(last.sequence ?? 0) },
        }
      : { ...existing.metadata, annotations: { ...existing.metadata.annotations, [toldAnnotation]: String(last.sequence ?? told) } },
    involvedObject: { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }), uid },
    reason: last.reason,
    message: last.message.slice(0, 1024),
    type: last.type,
    source: { component },
    reportingComponent: component,
    firstTimestamp: existing?.firstTimestamp ?? wholeSeconds(first.atMs),
    lastTimestamp: wholeSeconds(last.atMs),
    count: (existing?.count ?? 0) + fresh.length,
  };
}

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
    told.push({ reason: 'RoundStarted', type: 'Normal', message: `Round ${sequence}${trigger} started on ${spec.runners.length - missing.length} runners${but}`, atMs: Math.max(startMs, madeMs), sequence });
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
