import type { KubeObject } from '@roundsman/api';
import { nameLimit, type EventObject } from '../events/event.ts';
import { wholeSeconds } from '../timestamps.ts';

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
/** One Event per object and reason: its count says how often, its message tells of the last. */
export const eventName = (object: Pick<KubeObject, 'metadata'>, reason: string): string =>
  `${object.metadata.name.slice(0, nameLimit).replace(/[^a-z0-9]+$/, '')}.${reason.toLowerCase()}.${object.metadata.uid.slice(0, 8)}`;

/**
 * The Event with these occurrences added; undefined when it tells all of them already. Occurrences are of one reason, oldest first.
 */
export function foldEvent(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, existing: EventObject | undefined, occurrences: readonly Occurrence[]): EventObject | undefined {
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
          ownerReferences: [{ apiVersion, kind, name, uid }],
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
