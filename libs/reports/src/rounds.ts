import { roundObjectName, type Round } from '@roundsman/api';
import type pg from 'pg';
import { ensurePartition, perDay } from './partitions.ts';
import { rollBack } from './pool.ts';
import { keptFrom } from './retained.ts';

/**
 * Notes a Round object: what it is, its deadline and who must report; what results alone had said of it before is put right.
 * Repeating it is harmless. A closed round stays as it is, but its object is told (again): it does not know.
 */
export async function registerRound(pool: pg.Pool, round: Round): Promise<'open' | 'closed'> {
  const { taskRef, number, startTime, deadline, taskSpec, runners, trigger, notTested, cancel } = round.spec;
  const name = roundObjectName(taskRef.kind, taskRef.name, taskRef.uid, number);
  const client = await pool.connect();
  let broken = true;
  try {
    await ensureDay(client, taskRef.uid, number, startTime);
    await client.query('begin');
    await moveResults(client, taskRef.uid, number, startTime);
    const { rows } = await client.query<{ closed: boolean }>(
      `insert into report.rounds as r (task_uid, round, kind, namespace, task, name, round_start, deadline, trigger, task_spec, not_tested, registered, cancel_seen)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, true, case when $12 then now() end)
       on conflict (task_uid, round) do update set
         kind = excluded.kind, namespace = excluded.namespace, task = excluded.task, name = excluded.name, round_start = case when r.registered then r.round_start else excluded.round_start end,
         deadline = excluded.deadline, trigger = excluded.trigger, task_spec = excluded.task_spec, not_tested = excluded.not_tested, registered = true,
         cancel_seen = coalesce(r.cancel_seen, excluded.cancel_seen)
       where r.closed_at is null
       returning closed_at is not null as closed`,
      [taskRef.uid, number, taskRef.kind, taskRef.namespace, taskRef.name, name, startTime, deadline, trigger, JSON.stringify(taskSpec), notTested ?? [], cancel === true],
    );
    if (rows.length === 0) {
      await client.query('update report.rounds set registered = true, kind = $3, namespace = $4, task = $5, name = $6, status_written = false where task_uid = $1 and round = $2', [
        taskRef.uid, number, taskRef.kind, taskRef.namespace, taskRef.name, name,
      ]);
    } else {
      await client.query(
        `insert into report.runner_rounds as r (task_uid, round, runner, node, expected, not_ready, pod)
         select $1, $2, k.runner, k.node, true, k.not_ready, k.pod from unnest($3::text[], $4::text[], $5::text[], $6::text[]) k (runner, node, not_ready, pod) order by k.runner
         on conflict (task_uid, round, runner) do update set expected = true, node = excluded.node, not_ready = excluded.not_ready, pod = excluded.pod`,
        [taskRef.uid, number, runners.map((entry) => entry.runner), runners.map((entry) => entry.node), runners.map((entry) => entry.notReady ?? null), runners.map((entry) => entry.pod ?? null)],
      );
    }
    await client.query('commit');
    broken = false;
    return rows.length > 0 ? 'open' : 'closed';
  } catch (error) {
    broken = !(await rollBack(client, error));
    throw error;
  } finally {
    client.release(broken);
  }
}

/** An open round that only results have told of, with a start that its object does not confirm. */
const otherStart = `from report.rounds where task_uid = $1 and round = $2 and closed_at is null and not registered and round_start <> $3`;

/** Partitions are made outside of transactions. */
async function ensureDay(client: pg.PoolClient, taskUid: string, round: number, start: string): Promise<void> {
  const { rowCount } = await client.query(`select ${otherStart}`, [taskUid, round, start]);
  if (rowCount === 0) return;
  for (const partitioned of perDay) await ensurePartition(client, partitioned, Date.parse(start));
}

/** All rows of a round lie at its start. */
async function moveResults(client: pg.PoolClient, taskUid: string, round: number, start: string): Promise<void> {
  const { rows } = await client.query<{ was: Date }>(`select round_start as was ${otherStart} for update`, [taskUid, round, start]);
  if (rows[0] === undefined) return;
  for (const { table } of perDay) {
    await client.query(`update report.${table} set round_start = $4 where round_start = $3 and task_uid = $1 and round = $2`, [taskUid, round, rows[0].was, start]);
  }
}

/** Marks an open round as canceled now, unless it is already: its Round object is gone. */
export async function cancelRow(pool: pg.Pool, taskUid: string, round: number): Promise<void> {
  await pool.query('update report.rounds set cancel_seen = now() where task_uid = $1 and round = $2 and closed_at is null and cancel_seen is null', [taskUid, round]);
}

/**
 * Removes an open round that only results have told of, with all of them: it was given to nobody. Answers whose they were; nothing when it is registered or
 * closed meanwhile.
 */
export async function discardRound(pool: pg.Pool, taskUid: string, round: number): Promise<string[]> {
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query('begin');
    const { rows } = await client.query<{ start: Date }>('select round_start as start from report.rounds where task_uid = $1 and round = $2 and closed_at is null and not registered for update', [taskUid, round]);
    const [row] = rows;
    const runners = row === undefined ? [] : (await client.query<{ runner: string }>('select runner from report.runner_rounds where task_uid = $1 and round = $2 order by runner', [taskUid, round])).rows;
    if (row !== undefined) {
      for (const { table } of perDay) await client.query(`delete from report.${table} where round_start = $3 and task_uid = $1 and round = $2`, [taskUid, round, row.start]);
      await client.query('delete from report.rounds where task_uid = $1 and round = $2', [taskUid, round]);
    }
    await client.query('commit');
    broken = false;
    return runners.map(({ runner }) => runner);
  } catch (error) {
    broken = !(await rollBack(client, error));
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Which of these rounds of a runner need nothing more from it: its result is whole, or its round was closed without it, or is
 * unknown and older than what is kept.
 */
export async function committedRounds(
  pool: pg.Pool,
  runner: string,
  rounds: readonly { taskUid: string; round: number; endedAt?: string | undefined }[],
  retentionMs: number,
): Promise<{ taskUid: string; round: number }[]> {
  const horizon = await keptFrom(pool, retentionMs);
  const { rows } = await pool.query<{ taskUid: string; round: number }>(
    `select k.uid as "taskUid", k.round from unnest($2::text[], $3::int[], $4::timestamptz[]) k (uid, round, ended)
     left join report.rounds r on r.task_uid = k.uid and r.round = k.round
     left join report.runner_rounds x on x.task_uid = k.uid and x.round = k.round and x.runner = $1
     where r.closed_at is not null or x.state is not null or (r.round is null and k.ended < $5)`,
    [runner, rounds.map(({ taskUid }) => taskUid), rounds.map(({ round }) => round), rounds.map(({ endedAt }) => endedAt ?? null), new Date(horizon)],
  );
  return rows;
}

export interface OpenRound {
  taskUid: string;
  round: number;
  kind: string;
  namespace: string;
  task: string;
  name: string;
  trigger: string;
  registered: boolean;
  /** Milliseconds since the row was made. */
  ageMs: number;
  /** Milliseconds since its start, negative before. */
  ranMs: number;
  /** Milliseconds until the deadline, negative once it passed; undefined while the Round object was not seen. */
  leftMs: number | undefined;
  /** Milliseconds since the cancel was seen. */
  canceledMs: number | undefined;
  /** Expected runners that were given the round and have no outcome. */
  pending: number;
  expected: number;
}

/** The expected runners of a round that were given it and have no outcome. */
export async function pendingRunners(pool: pg.Pool, taskUid: string, round: number): Promise<string[]> {
  const { rows } = await pool.query<{ runner: string }>('select runner from report.runner_rounds where task_uid = $1 and round = $2 and expected and state is null and not_ready is null order by runner', [taskUid, round]);
  return rows.map(({ runner }) => runner);
}

/** Every round that is not closed, by Postgres' clock. */
export async function openRounds(pool: pg.Pool): Promise<OpenRound[]> {
  const { rows } = await pool.query<Omit<OpenRound, 'leftMs' | 'canceledMs'> & { leftMs: number | null; canceledMs: number | null }>({
    name: 'report-open-rounds',
    text: `select r.task_uid as "taskUid", r.round, r.kind, r.namespace, r.task, r.name, r.trigger, r.registered,
       (extract(epoch from clock_timestamp() - r.first_seen) * 1000)::float8 as "ageMs", (extract(epoch from clock_timestamp() - r.round_start) * 1000)::float8 as "ranMs", (extract(epoch from r.deadline - clock_timestamp()) * 1000)::float8 as "leftMs",
       (extract(epoch from clock_timestamp() - r.cancel_seen) * 1000)::float8 as "canceledMs",
       (select count(*) filter (where x.state is null and x.not_ready is null) from report.runner_rounds x where x.task_uid = r.task_uid and x.round = r.round and x.expected)::int as pending,
       (select count(*) from report.runner_rounds x where x.task_uid = r.task_uid and x.round = r.round and x.expected)::int as expected
     from report.rounds r where r.closed_at is null`,
  });
  return rows.map((row) => ({ ...row, leftMs: row.leftMs ?? undefined, canceledMs: row.canceledMs ?? undefined }));
}
