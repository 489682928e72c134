import type pg from 'pg';
import { rollBack } from './pool.ts';
import { noteRemoved, removedUpTo } from './retained.ts';
import { dayMs, dropPartition, ensurePartition, isAttached, listPartitions, partitionOf, perDay, perMonth } from './partitions.ts';

export interface RetentionOptions {
  /** Results, failures and reports of rounds that started longer ago are removed, by whole days. */
  readonly retentionMs: number;
  /** Results and failures may take this much on disk; the oldest days go first, today's stays. 0: no limit. */
  readonly maxBytes: number;
  /** Hourly roll-ups are kept this long, by whole months. */
  readonly rollupRetentionMs: number;
}

/** Makes the partitions of today and the days to come, so that ingest seldom has to. */
export async function createAhead(pool: pg.Pool, days: number, now = Date.now()): Promise<void> {
  await withClient(pool, async (client) => {
    for (let day = 0; day <= days; day++) for (const partitioned of perDay) await ensurePartition(client, partitioned, now + day * dayMs);
    await ensurePartition(client, perMonth, now);
    await ensurePartition(client, perMonth, now + days * dayMs);
  });
}

export interface Retired {
  /** Partitions dropped, by name. */
  readonly partitions: string[];
  /** Rounds whose reports are gone with them. */
  readonly rounds: number;
  /** What the dropped days took on disk. */
  readonly bytes: number;
  /** What results and failures take on disk now. */
  readonly keptBytes: number;
}

/** Removes what is too old, then the oldest days while there is too much. Reports go with the results they were made of. */
export async function retire(pool: pg.Pool, options: RetentionOptions, now = Date.now()): Promise<Retired> {
  return withClient(pool, async (client) => {
    let horizon = partitionOf(perDay[0]!, now - options.retentionMs).from;
    const days: (Awaited<ReturnType<typeof listPartitions>>[number] & { readonly partitioned: (typeof perDay)[number] })[] = [];
    // One after the other: a client answers one query at a time.
    for (const partitioned of perDay) for (const partition of await listPartitions(client, partitioned)) days.push({ ...partition, partitioned });
    const all = days.reduce((sum, day) => sum + day.bytes, 0);
    if (options.maxBytes > 0) {
      let total = all;
      const today = partitionOf(perDay[0]!, now).from;
      for (const [from, parts] of [...Map.groupBy(days, (day) => day.from)].sort(([a], [b]) => a - b)) {
        if (total <= options.maxBytes || from >= today) break;
        total -= parts.reduce((sum, part) => sum + part.bytes, 0);
        horizon = Math.max(horizon, from + dayMs);
      }
    }
    const gone = Math.max(0, ...days.filter(({ to }) => to <= horizon).map(({ to }) => to));
    if (gone > 0) await noteRemoved(client, gone);
    // Reports first: none may point to rows that are gone.
    const rounds = await retireRounds(client, horizon);
    const partitions: string[] = [];
    let bytes = 0;
    for (const day of days) {
      if (day.to > horizon) continue;
      await dropPartition(client, day.partitioned, day.name);
      partitions.push(day.name);
      bytes += day.bytes;
    }
    for (const { name, to } of await listPartitions(client, perMonth)) {
      if (to > now - options.rollupRetentionMs) continue;
      await dropPartition(client, perMonth, name);
      partitions.push(name);
    }
    return { partitions, rounds, bytes, keptBytes: all - bytes };
  });
}

/** Closed rounds from before the horizon go, each leaving a note for watchers; notes go after a day. */
async function retireRounds(client: pg.PoolClient, horizon: number): Promise<number> {
  let all = 0;
  for (;;) {
    await client.query('begin');
    try {
      await client.query('select pg_advisory_xact_lock(7270003)');
      const { rowCount } = await client.query(
        `with gone as (
           delete from report.rounds where (task_uid, round) in (
             select task_uid, round from report.rounds where round_start < $1 and closed_at is not null and status_written and announced limit 1000)
           returning task_uid, round, kind, namespace, task, name)
         insert into report.retired (report_version, task_uid, round, kind, namespace, task, name) select nextval('report.report_version'), gone.* from gone`,
        [new Date(horizon)],
      );
      await client.query(`delete from report.retired where retired_at < now() - interval '1 day'`);
      await client.query('commit');
      all += rowCount ?? 0;
      if ((rowCount ?? 0) < 1000) return all;
    } catch (error) {
      await rollBack(client, error);
      throw error;
    }
  }
}

/**
 * Rolls up the hours in which rounds were closed since the last time, but for the current one: each is computed anew from
 * its rows, so that repeating it, or rolling up an hour once more for a late round, gives the same. Hours whose rows retention
 * has removed keep what they have. Answers how many.
 */
export async function rollUp(pool: pg.Pool, now = Date.now()): Promise<number> {
  return withClient(pool, async (client) => {
    const current = new Date(Math.floor(now / 3_600_000) * 3_600_000);
    let done = 0;
    for (;;) {
      const removed = await removedUpTo(client);
      await client.query('begin');
      try {
        const { rows } = await client.query<{ hour: Date }>('select hour from report.dirty_hours where hour < $1 order by hour limit 1 for update', [current]);
        if (rows[0] === undefined) {
          await client.query(
            `insert into report.rollup_state values ('hourly', coalesce((select min(hour) from report.dirty_hours), $1)) on conflict (name) do update set upto = excluded.upto`,
            [current],
          );
          await client.query('commit');
          return done;
        }
        const { hour } = rows[0];
        await client.query('delete from report.dirty_hours where hour = $1', [hour]);
        const there = hour.getTime() >= removed && (await isAttached(client, partitionOf(perDay[0]!, hour.getTime()).name));
        if (there) await rollUpHour(client, hour);
        await client.query('commit');
        if (there) done += 1;
      } catch (error) {
        const usable = await rollBack(client, error);
        if (!usable || !(error instanceof NoRollupPartition)) throw error;
        await ensurePartition(client, perMonth, error.hour.getTime());
      }
    }
  });
}

class NoRollupPartition extends Error {
  constructor(readonly hour: Date) {
    super('no partition for this month yet');
  }
}

async function rollUpHour(client: pg.PoolClient, hour: Date): Promise<void> {
  if (!(await isAttached(client, partitionOf(perMonth, hour.getTime()).name))) throw new NoRollupPartition(hour);
  const end = new Date(hour.getTime() + 3_600_000);
  await client.query('delete from report.rollups where hour = $1', [hour]);
  await client.query(
    `insert into report.rollups (hour, task_uid, runner, target, kind, namespace, task, node, layer, target_node, rounds, ok_rounds, planned, sent, unsent, succeeded, failed, bytes,
       latency_count, latency_sum_us, latency_min_us, latency_max_us, latency_b, latency_c)
     with mine as (
       select x.*, r.kind, r.namespace, r.task, coalesce(rr.node, x.runner) as node from report.results x
       join report.rounds r on r.task_uid = x.task_uid and r.round = x.round and r.closed_at is not null
       left join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner
       where x.round_start >= $1 and x.round_start < $2),
     sums as (
       select task_uid, runner, target, max(kind) as kind, max(namespace) as namespace, max(task) as task, max(node) as node, max(layer) as layer, max(target_node) as target_node,
         count(*) as rounds, count(*) filter (where ok) as ok_rounds, sum(planned) as planned, sum(sent) as sent, sum(unsent) as unsent, sum(succeeded) as succeeded, sum(failed) as failed,
         sum(bytes) as bytes, sum(latency_count) as n, sum(latency_sum_us) as sum_us, coalesce(min(latency_min_us) filter (where latency_count > 0), 0) as min_us, max(latency_max_us) as max_us
       from mine group by 1, 2, 3),
     merged as (
       select task_uid, runner, target, array_agg(b order by b) as b, array_agg(c order by b) as c from (
         select m.task_uid, m.runner, m.target, u.b, sum(u.c)::bigint as c from mine m, lateral unnest(m.latency_b, m.latency_c) u (b, c) group by 1, 2, 3, 4) s group by 1, 2, 3)
     select $1, s.task_uid, s.runner, s.target, s.kind, s.namespace, s.task, s.node, s.layer, s.target_node, s.rounds, s.ok_rounds, s.planned, s.sent, s.unsent, s.succeeded, s.failed, s.bytes,
       s.n, s.sum_us, s.min_us, s.max_us, coalesce(m.b, '{}'), coalesce(m.c, '{}') from sums s left join merged m using (task_uid, runner, target)`,
    [hour, end],
  );
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken = true;
  try {
    const result = await work(client);
    broken = false;
    return result;
  } finally {
    // After an error its state is unknown: never back into the pool.
    client.release(broken);
  }
}
