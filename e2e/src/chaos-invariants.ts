import type { Pool } from 'pg';

export interface Accepted {
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
  readonly rounds: number;
  /** Requests that one runner sends to one target in one round: qps times seconds. */
  readonly perTarget: number;
}

/**
 * What the report tables must say once everything has settled, whatever was killed meanwhile; one line per breach.
 * Every round of every accepted task is there and closed; every expected runner has exactly one terminal record (the
 * primary key forbids two), missing ones with a reason; what a runner reported is whole, and the sums of a round are
 * those of its rows.
 */
export async function breaches(pool: Pool, tasks: readonly Accepted[], runners: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const task of tasks) {
    const rounds = await pool.query<{ round: number; state: string; closed: boolean }>(
      'select round, state, closed_at is not null as closed from report.rounds where task_uid = $1 order by round',
      [task.uid],
    );
    const numbers = rounds.rows.map(({ round }) => round);
    const expected = Array.from({ length: task.rounds }, (_, index) => index + 1);
    if (numbers.join() !== expected.join()) found.push(`${task.name}: rounds are ${numbers.join()} and should be ${expected.join()}`);
    for (const { round, closed } of rounds.rows) if (!closed) found.push(`${task.name} round ${round} is still open`);
    found.push(...(await recordBreaches(pool, task, runners)), ...(await sumBreaches(pool, task)));
  }
  return found;
}

async function recordBreaches(pool: Pool, task: Accepted, runners: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const records = await pool.query<{ round: number; runner: string; state: string | null; reason: string | null; target_count: number | null; rows: number; planned: string | null; whole: boolean | null }>(
    `select o.round, o.runner, o.state, o.reason, o.target_count,
            (select count(*)::int from report.results r where r.task_uid = o.task_uid and r.round = o.round and r.runner = o.runner) as rows,
            (select sum(planned) from report.results r where r.task_uid = o.task_uid and r.round = o.round and r.runner = o.runner) as planned,
            (select bool_and(planned = sent + unsent and sent = succeeded + failed) from report.results r where r.task_uid = o.task_uid and r.round = o.round and r.runner = o.runner) as whole
     from report.runner_rounds o where o.task_uid = $1 order by o.round, o.runner`,
    [task.uid],
  );
  const byRound = Map.groupBy(records.rows, ({ round }) => round);
  for (const [round, rows] of byRound) {
    const at = `${task.name} round ${round}`;
    for (const runner of runners) if (!rows.some((row) => row.runner === runner)) found.push(`${at}: no record of ${runner}`);
    for (const row of rows) {
      if (row.state === null) found.push(`${at}: ${row.runner} has no terminal record`);
      if (row.state !== 'ok' && !row.reason) found.push(`${at}: ${row.runner} is ${row.state} without a reason`);
      if ((row.state === 'ok' || row.state === 'failed') && row.rows !== row.target_count) found.push(`${at}: ${row.runner} measured ${row.target_count} targets, ${row.rows} are recorded`);
      if ((row.state === 'ok' || row.state === 'failed') && Number(row.planned) !== row.rows * task.perTarget) {
        found.push(`${at}: ${row.runner} planned ${row.planned} requests at ${row.rows} targets, it should be ${task.perTarget} each`);
      }
      if (row.whole === false) found.push(`${at}: planned, sent, succeeded and failed of ${row.runner} do not add up`);
    }
  }
  return found;
}

async function sumBreaches(pool: Pool, task: Accepted): Promise<string[]> {
  const wrong = await pool.query<{ round: number; told: string; rows: string }>(
    `select o.round, concat_ws('/', o.planned, o.sent, o.succeeded, o.failed) as told,
            concat_ws('/', s.planned, s.sent, s.succeeded, s.failed) as rows
     from report.rounds o
     cross join lateral (
       select coalesce(sum(planned), 0) planned, coalesce(sum(sent), 0) sent, coalesce(sum(succeeded), 0) succeeded, coalesce(sum(failed), 0) failed
       from report.results r where r.task_uid = o.task_uid and r.round = o.round) s
     where o.task_uid = $1 and (coalesce(o.planned, 0), coalesce(o.sent, 0), coalesce(o.succeeded, 0), coalesce(o.failed, 0)) is distinct from (s.planned, s.sent, s.succeeded, s.failed)`,
    [task.uid],
  );
  return wrong.rows.map(({ round, told, rows }) => `${task.name} round ${round}: planned/sent/succeeded/failed are ${told}, its rows say ${rows}`);
}
