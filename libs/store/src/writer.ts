import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { Client } from './connection.ts';
import { changeOf, objectOf, type ChangeRow } from './rows.ts';

/** Everything intake needs to go on where the last leader stopped. */
export interface StoredState {
  readonly head: number;
  readonly objects: { resource: string; namespace: string; name: string; object: KubeObject }[];
  /** Version of the last kept change of each resource. */
  readonly lastOfResource: Map<string, number>;
}

const commitText = `
with input as materialized (
  select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], string_to_array($8, E'\\x01'), $9::boolean[])
    as t(version, of_resource, type, resource, namespace, name, uid, body, last)
), history as (
  insert into roundsman.changes (version, of_resource, type, resource, namespace, name, uid, body)
  select version, of_resource, type, resource, namespace, name, uid, body::json from input
), gone as (
  delete from roundsman.objects o using input i
  where i.last and i.type = 'DELETED' and o.resource = i.resource and o.namespace = i.namespace and o.name = i.name
)
insert into roundsman.objects as o (resource, namespace, name, uid, version, body)
select resource, namespace, name, uid, version, body::json from input where last and type <> 'DELETED'
on conflict (resource, namespace, name) do update set uid = excluded.uid, version = excluded.version, body = excluded.body`;

/** Key under which one object stands in a batch. */
export const objectKey = (change: Pick<Change, 'resource' | 'namespace' | 'name'>): string => `${change.resource} ${change.namespace} ${change.name}`;

/**
 * Commits changes, in version order, and the state they lead to, in one transaction of one round trip. `client` must be the
 * session that holds the leadership: when it is gone, nothing is written. Rejects when the outcome is not a sure commit.
 */
export async function commitChanges(client: Client, changes: readonly Change[]): Promise<void> {
  const lastAt = new Map<string, number>();
  for (const [index, change] of changes.entries()) lastAt.set(objectKey(change), index);
  await client.query({
    name: 'store-commit',
    text: commitText,
    values: [
      changes.map((change) => change.version),
      changes.map((change) => change.previousOfResource),
      changes.map((change) => change.type),
      changes.map((change) => change.resource),
      changes.map((change) => change.namespace),
      changes.map((change) => change.name),
      changes.map((change) => change.uid),
      // JSON text holds no control characters, so one separates the bodies; an array literal would have every quote escaped.
      changes.map((change) => JSON.stringify(change.object)).join('\u0001'),
      changes.map((change, index) => lastAt.get(objectKey(change)) === index),
    ],
  });
}

/** Reads the whole current state. */
export async function loadState(client: Client): Promise<StoredState> {
  const objects = await client.query<{ resource: string; namespace: string; name: string; body: string }>('select resource, namespace, name, body from roundsman.objects');
  const last = await client.query<{ resource: string; version: number }>('select resource, max(version) as version from roundsman.changes group by resource');
  const lastOfResource = new Map(last.rows.map(({ resource, version }) => [resource, version]));
  return {
    head: Math.max(0, ...lastOfResource.values()),
    objects: objects.rows.map(({ resource, namespace, name, body }) => ({ resource, namespace, name, object: objectOf(body) })),
    lastOfResource,
  };
}

/** The newest changes, oldest first: for those who ask for a little history. */
export async function recentChanges(client: Client, count: number): Promise<Change[]> {
  const { rows } = await client.query<ChangeRow>('select version, of_resource, type, resource, namespace, name, uid, body from roundsman.changes order by version desc limit $1', [count]);
  return rows.reverse().map(changeOf);
}

/** How much history is kept; whichever is reached first trims. The newest change always stays: it tells the head. */
export interface KeepHistory {
  readonly changes: number;
  readonly ageMs: number;
}

/** Removes old changes, at most `batch` a call; returns how many. A watch from before them gets 410. */
export async function trimChanges(client: Client, keep: KeepHistory, batch = 20_000): Promise<number> {
  const { rowCount } = await client.query(
    `with bounds as (select coalesce(max(version), 0) as head, coalesce(min(version), 0) as oldest from roundsman.changes),
     oldest as (select version, at from roundsman.changes order by version limit $3),
     aged as (select coalesce(max(version), 0) as version from oldest where at < now() - $2::float8 * interval '1 millisecond')
     delete from roundsman.changes c using bounds, aged
     where c.version <= least(greatest(bounds.head - $1, aged.version), bounds.head - 1, bounds.oldest + $3 - 1)`,
    [keep.changes, keep.ageMs, batch],
  );
  return rowCount ?? 0;
}

/** Removes all that is too old, batch by batch, so that no commit waits long behind it; returns how many. `goOn` is asked between batches. */
export async function trimHistory(client: Client, keep: KeepHistory, { batch = 20_000, goOn = () => true }: { batch?: number; goOn?: () => boolean } = {}): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await trimChanges(client, keep, batch);
    removed += count;
    if (count < batch || !goOn()) return removed;
  }
}
