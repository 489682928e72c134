import { eventAgain, eventName, eventObject, type EventObject, type KubeObject } from '@roundsman/api';

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
export const nameOf = ({ metadata: { name, uid } }: Pick<KubeObject, 'metadata'>, reason: string): string => eventName(name, `${reason.toLowerCase()}.${uid.slice(0, 8)}`);

/**
 * The Event with these occurrences added; undefined when it tells all of them already. Occurrences are of one reason, oldest first.
 */
export function foldEvent(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, existing: EventObject | undefined, occurrences: readonly Occurrence[]): EventObject | undefined {
  const told = Number(existing?.metadata.annotations?.[toldAnnotation] ?? 0);
  const fresh = occurrences.filter(({ sequence }) => sequence === undefined || sequence > told);
  const last = fresh.at(-1);
  const first = fresh[0];
  if (last === undefined || first === undefined) return undefined;
  const { reason, type, message } = last;
  if (existing !== undefined) {
    const again = eventAgain(existing, message, fresh.length, last.atMs);
    return { ...again, type, metadata: { ...again.metadata, annotations: { ...again.metadata.annotations, [toldAnnotation]: String(last.sequence ?? told) } } };
  }
  const event = eventObject({ name: nameOf(object, reason), about: object, type, reason, message, component, firstMs: first.atMs, lastMs: last.atMs, count: fresh.length });
  return { ...event, metadata: { ...event.metadata, annotations: { [toldAnnotation]: String(last.sequence ?? 0) } } };
}
