import type pg from 'pg';
import { rollBack } from './pool.ts';

export const dayMs = 86_400_000;

/** A table that is partitioned by a column of times, and how long one partition lasts. */
export interface Partitioned {
  readonly table: 'results' | 'failures' | 'rollups';
  readonly span: 'day' | 'month';
}
export const perDay: readonly Partitioned[] = [
  { table: 'results', span: 'day' },
  { table: 'failures', span: 'day' },
];
export const perMonth: Partitioned = { table: 'rollups', span: 'month' };

export interface Partition {
  /** Name within schema `report`: `results_p20261121`. */
  readonly name: string;
  /** Milliseconds, inclusive. */
  readonly from: number;
  /** Milliseconds, exclusive. */
  readonly to: number;
}

export function partitionOf({ table, span }: Partitioned, at: number): Partition {
  const date = new Date(at);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  const day = span === 'day' ? date.getUTCDate() : 1;
  const from = Date.UTC(year, month, day);
  const to = span === 'day' ? from + dayMs : Date.UTC(year, month + 1, 1);
  const digits = new Date(from).toISOString().slice(0, span === 'day' ? 10 : 7).replaceAll('-', '');
  return { name: `${table}_p${digits}`, from, to };
}

/**
 * Makes the partition that holds `at` unless it is there; attached after it was filled in, so that readers and writers of
 * other partitions never wait. Safe from several processes. Not inside a transaction of the caller.
 */
export async function ensurePartition(client: pg.ClientBase, partitioned: Partitioned, at: number): Promise<void> {
  const { name, from, to } = partitionOf(partitioned, at);
  if (await isAttached(client, name)) return;
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock(7270002, hashtext($1))', [name]);
    if (!(await isAttached(client, name))) {
      const parent = `report.${partitioned.table}`;
      await client.query(`create table if not exists report.${name} (like ${parent} including defaults including constraints including storage)`);
      await client.query(`alter table ${parent} attach partition report.${name} for values from ('${new Date(from).toISOString()}') to ('${new Date(to).toISOString()}')`);
    }
    await client.query('commit');
  } catch (error) {
    await rollBack(client, error);
    throw error;
  }
}

export async function isAttached(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rowCount } = await client.query(`select from pg_inherits i where i.inhrelid = to_regclass($1)`, [`report.${name}`]);
  return rowCount === 1;
}

/** Partitions of a table with their size on disk, oldest first; also ones that were detached but not dropped yet. */
export async function listPartitions(client: pg.ClientBase | pg.Pool, partitioned: Partitioned): Promise<(Partition & { bytes: number; attached: boolean })[]> {
  const { rows } = await client.query<{ name: string; bytes: string; attached: boolean }>(
    `select c.relname as name, pg_total_relation_size(c.oid) as bytes, exists (select from pg_inherits i where i.inhrelid = c.oid) as attached
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'report' and c.relkind = 'r' and c.relname ~ $1 order by c.relname`,
    [`^${partitioned.table}_p[0-9]+$`],
  );
  return rows.map(({ name, bytes, attached }) => {
    const digits = name.slice(name.lastIndexOf('p') + 1);
    const at = Date.UTC(Number(digits.slice(0, 4)), Number(digits.slice(4, 6)) - 1, digits.length > 6 ? Number(digits.slice(6, 8)) : 1);
    return { ...partitionOf(partitioned, at), bytes: Number(bytes), attached };
  });
}

/** Removes a partition without making readers of the others wait; picks up where an interrupted removal stopped. */
export async function dropPartition(client: pg.ClientBase, partitioned: Partitioned, name: string): Promise<void> {
  const { rows } = await client.query<{ pending: boolean }>(`select inhdetachpending as pending from pg_inherits where inhrelid = to_regclass($1)`, [`report.${name}`]);
  if (rows[0] !== undefined) await client.query(`alter table report.${partitioned.table} detach partition report.${name} ${rows[0].pending ? 'finalize' : 'concurrently'}`);
  await client.query(`drop table if exists report.${name}`);
}
