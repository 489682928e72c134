import { expired, kindByResource, matchesLabels, notFound, parseLabelSelector, ApiError } from '@roundsman/api';
import type { Change, messages } from '@roundsman/bus';
import { Expired } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { z } from 'zod';
import { nameKey, pageBytes, pageOf } from './pages.ts';
import type { State } from './state.ts';
import { announcementOf, refuseWithheld } from './withheld.ts';

type Request<M extends keyof typeof messages> = (typeof messages)[M] extends { request: infer Q extends z.ZodType } ? z.output<Q> : never;
type Reply<M extends keyof typeof messages> = (typeof messages)[M] extends { reply: infer A extends z.ZodType } ? z.output<A> : never;

export function get(state: State, { resource, namespace, name }: Request<'get'>): Reply<'get'> {
  refuseWithheld(resource, name);
  const object = state.get(resource, namespace, name);
  if (object === undefined) throw notFound(kindByResource.get(resource) ?? { plural: resource, group: '' }, name);
  return object as unknown as Reply<'get'>;
}

/** `after` and `next` are `namespace/name` of the last object of a page. */
export function list(state: State, { resource, namespace, labelSelector, limit, after }: Request<'list'>): Reply<'list'> {
  if (!kindByResource.has(resource)) throw new ApiError('NotFound', `the server could not find the requested resource (${resource})`);
  refuseWithheld(resource);
  const requirements = parseLabelSelector(labelSelector ?? '');
  const wanted = state.list(resource).filter((object) => (namespace === undefined || object.metadata.namespace === namespace) && matchesLabels(requirements, object.metadata.labels));
  const { items, ...more } = pageOf(wanted, nameKey, { after, limit });
  return { version: state.head, items: items as unknown as Reply<'list'>['items'], ...more };
}

/** From Postgres, which has more than memory. Of a secret no more than that it changed. */
export async function changes(store: Store, { since, resource, limit }: Request<'changes'>): Promise<Reply<'changes'>> {
  if (resource !== undefined) refuseWithheld(resource);
  let page: { head: number; changes: Change[]; more: boolean };
  try {
    page = await store.changes(since, { limit, ...(resource !== undefined && { resource }) });
  } catch (error) {
    if (error instanceof Expired) throw expired(since, since);
    throw error;
  }
  const told = page.changes.map(announcementOf);
  let bytes = 0;
  const fitting = told.findIndex((change, index) => (bytes += JSON.stringify(change).length) > pageBytes && index > 0);
  return fitting < 0 ? { ...page, changes: told } : { head: page.head, changes: told.slice(0, fitting), more: true };
}
