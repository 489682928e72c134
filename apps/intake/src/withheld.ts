import { forbidden } from '@roundsman/api';
import type { Change } from '@roundsman/bus';

/** Their content never travels to whoever follows changes or asks intake: who may see it reads it from the rows, or is given what is his. */
const withheld: ReadonlySet<string> = new Set(['secrets']);

/** What is told of a change. Annotations would hold the content too (`kubectl apply` keeps a copy there). */
export function announcementOf(change: Change): Change {
  if (!withheld.has(change.resource)) return change;
  const { apiVersion, kind, metadata } = change.object;
  const { name, namespace, uid, resourceVersion } = metadata;
  return { ...change, object: { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } }, withheld: true };
}

/** Throws a 403 for what nobody reads through intake. */
export function refuseWithheld(resource: string, name = ''): void {
  if (withheld.has(resource)) throw forbidden({ plural: resource, group: '' }, name, 'intake shows them to nobody: ask the gateway; an agent is given those of its pods, a runner those of its rounds');
}
