import type { EventObject, KubeObject } from '@roundsman/api';
import type { Informer } from '@roundsman/reconcile';
import type { Objects } from '../objects.ts';
import { foldEvent, nameOf, type Occurrence } from './event-folding.ts';

/** Tells occurrences of one reason, each once however often this is called. As any other, the Event outlives the object until its time is over. */
export async function tellOnce(objects: Objects, events: Informer, object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>, occurrences: readonly Occurrence[]): Promise<void> {
  const reason = occurrences[0]?.reason;
  if (reason === undefined) return;
  const existing = events.get(object.metadata.namespace ?? 'default', nameOf(object, reason)) as unknown as EventObject | undefined;
  const event = foldEvent(object, existing, occurrences);
  if (event === undefined) return;
  if (existing === undefined) await objects.create(events, event);
  else await objects.update(events, event);
}
