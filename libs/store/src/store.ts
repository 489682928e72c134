import { expired, type KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import { Expired, type ObjectSource } from '@roundsman/reconcile';
import { Pool, poolConfig } from './connection.ts';
import { conditions, cursorOf, cursorText, type ListQuery } from './query.ts';
import { changeOf, objectOf, type ChangeRow } from './rows.ts';

export interface ObjectPage {
  /** Version to watch from; the same for all pages of a list. */
  readonly version: number;
  readonly items: KubeObject[];
  /** For the next page; absent on the last. */
  readonly continue?: string;
}

/** One row of what every read needs to know about the history: its newest version, and the newest that was trimmed. */
const history = 'select coalesce(max(version), 0) as head, coalesce(min(version), 1) - 1 as trimmed from roundsman.changes';

/** Objects and changes as committed in Postgres. Reads only; each answer is one snapshot. Rejects when Postgres does not answer in time. */
export class Store implements ObjectSource {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async get(resource: string, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const { rows } = await this.#pool.query<{ body: string }>({
      name: 'store-get',
      text: 'select body from roundsman.objects where resource = $1 and namespace = $2 and name = $3',
      values: [resource, namespace ?? '', name],
    });
    return rows[0] && objectOf(rows[0].body);
  }

  async list(resource: string): Promise<{ version: number; items: KubeObject[] }> {
    return this.page(resource, {});
  }

  /**
   * Objects in the order of namespace and name. A later page shows objects as they are by then, with the version of the
   * first page: who watches from it sees all that changed meanwhile. Throws a 410 when that history is trimmed.
   */
  async page(resource: string, query: ListQuery): Promise<ObjectPage> {
    const cursor = query.continue === undefined || query.continue === '' ? undefined : cursorOf(query.continue);
    const { sql, parameters } = conditions(resource, query, cursor);
    const limit = query.limit === undefined || query.limit === 0 ? '' : `limit ${Math.floor(query.limit) + 1}`;
    const { rows } = await this.#pool.query<{ head: number; trimmed: number; namespace: string; name: string; body: string | null }>(
      `with h as materialized (${history})
       select h.head, h.trimmed, o.namespace, o.name, o.body
       from h left join lateral (select namespace, name, body from roundsman.objects where ${sql} order by namespace, name ${limit}) o on true
       order by o.namespace, o.name`,
      parameters,
    );
    const { head, trimmed } = rows[0]!;
    if (cursor !== undefined && cursor.version < trimmed) throw expired(cursor.version, trimmed);
    const version = cursor?.version ?? head;
    const found = rows.filter((row): row is typeof row & { body: string } => row.body !== null);
    const more = query.limit !== undefined && query.limit > 0 && found.length > query.limit;
    if (more) found.length = query.limit!;
    const last = found.at(-1);
    return {
      version,
      items: found.map((row) => objectOf(row.body)),
      ...(more && last && { continue: cursorText({ version, namespace: last.namespace, name: last.name }) }),
    };
  }

  async changes(since: number, options: { resource?: string; limit: number }): Promise<{ head: number; changes: Change[]; more: boolean }> {
    const resource = options.resource ?? null;
    const { rows } = await this.#pool.query<ChangeRow & { head: number; trimmed: number }>({
      name: 'store-changes',
      text: `with h as materialized (${history})
       select h.head, h.trimmed, c.* from h left join lateral (
         select version, of_resource, type, resource, namespace, name, uid, body from roundsman.changes
         where version > $1 and ($2::text is null or resource = $2) order by version limit $3) c on true
       order by c.version`,
      values: [since, resource, options.limit + 1],
    });
    const { head, trimmed } = rows[0]!;
    if (since < trimmed) throw new Expired(`changes after version ${since} are no longer kept, the oldest is ${trimmed + 1}`);
    const found = rows.filter((row) => row.version !== null);
    const more = found.length > options.limit;
    if (more) found.length = options.limit;
    return { head, changes: found.map(changeOf), more };
  }

  /** The last change of an object that the history still has, also of one that is gone: its object is as it was then. */
  async lastChange(resource: string, namespace: string, name: string): Promise<Change | undefined> {
    const { rows } = await this.#pool.query<ChangeRow>({
      name: 'store-last-change',
      text: `select version, of_resource, type, resource, namespace, name, uid, body from roundsman.changes
       where resource = $1 and namespace = $2 and name = $3 order by version desc limit 1`,
      values: [resource, namespace, name],
    });
    return rows[0] && changeOf(rows[0]);
  }

  /** When the oldest change was committed that the history still has; undefined when it has none. */
  async oldestChangeAt(): Promise<Date | undefined> {
    const { rows } = await this.#pool.query<{ at: Date }>('select at from roundsman.changes order by version limit 1');
    return rows[0]?.at;
  }

  /** Newest version that is committed. */
  async head(): Promise<number> {
    const { rows } = await this.#pool.query<{ head: number }>(history);
    return rows[0]!.head;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** Opens a reader with a small pool. Does not connect yet. `name` shows in pg_stat_activity; `onProblem` hears of idle connections that broke. */
export function openStore(databaseUrl: string, options: { name?: string; connections?: number; onProblem?: (error: Error) => void } = {}): Store {
  const pool = new Pool(poolConfig(databaseUrl, options.name ?? 'store', options.connections ?? 4));
  pool.on('error', (error) => options.onProblem?.(error));
  return new Store(pool);
}
