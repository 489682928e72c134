import type { RoundStatus, TaskKind, Verdict } from '@roundsman/api';
import type pg from 'pg';
import { nodesOf, type RunnerBrief } from './render.ts';

/** A closed round that others have not been told of yet. */
export interface UntoldRound {
  readonly taskUid: string;
  readonly round: number;
  readonly kind: TaskKind;
  readonly namespace: string;
  readonly task: string;
  /** Name of the Round object and of its report. */
  readonly name: string;
  readonly start: Date;
  readonly closedAt: Date;
  readonly state: Exclude<RoundStatus['state'], 'ongoing'>;
  readonly verdict: Verdict;
  readonly totals: { planned: number; sent: number; succeeded: number; failed: number; unsent: number };
  /** The missing ones bounded, as are their reasons: others keep this in objects and messages. */
  readonly nodes: { succeeded: string[]; failed: string[]; missing: { node: string; runner: string; reason: string }[] };
  /** How many are missing beside those in `nodes`. */
  readonly unnamedMissing: number;
  /** Is there still a Round object to write the status of? */
  readonly registered: boolean;
  readonly statusWritten: boolean;
  readonly announced: boolean;
}

const mostMissing = 500;
const longestReason = 200;

/** Oldest first, at most `limit`, those in `except` left out. */
export async function untoldRounds(pool: pg.Pool, limit: number, except: readonly { taskUid: string; round: number }[] = []): Promise<UntoldRound[]> {
  const { rows } = await pool.query<Omit<UntoldRound, 'totals' | 'nodes' | 'unnamedMissing'> & UntoldRound['totals']>({
    name: 'report-untold',
    text: `select task_uid as "taskUid", round, kind, namespace, task, name, round_start as start, closed_at as "closedAt", state, verdict_body as verdict, registered,
       planned::float8, sent::float8, succeeded::float8, failed::float8, unsent::float8, status_written as "statusWritten", announced
     from report.rounds where closed_at is not null and not (status_written and announced)
       and (task_uid, round) not in (select * from unnest($2::text[], $3::int[])) order by closed_at limit $1`,
    values: [limit, except.map(({ taskUid }) => taskUid), except.map(({ round }) => round)],
  });
  if (rows.length === 0) return [];
  const runners = await pool.query<RunnerBrief & { taskUid: string; round: number }>(
    `select x.task_uid as "taskUid", x.round, x.runner, x.node, x.state, x.reason, x.starvation from report.runner_rounds x
     join unnest($1::text[], $2::int[]) k (uid, round) on x.task_uid = k.uid and x.round = k.round order by x.runner`,
    [rows.map((row) => row.taskUid), rows.map((row) => row.round)],
  );
  const of = Map.groupBy(runners.rows, ({ taskUid, round }) => `${taskUid}\n${round}`);
  return rows.map(({ planned, sent, succeeded, failed, unsent, ...row }) => {
    const mine = of.get(`${row.taskUid}\n${row.round}`) ?? [];
    const all = mine.filter((runner) => runner.state === 'missing');
    const missing = all.slice(0, mostMissing).map(({ node, runner, reason }) => ({ node, runner, reason: short(reason ?? 'unknown') }));
    return { ...row, totals: { planned, sent, succeeded, failed, unsent }, nodes: { ...nodesOf(mine), missing }, unnamedMissing: all.length - missing.length };
  });
}

const short = (text: string): string => (text.length <= longestReason ? text : `${text.slice(0, longestReason).toWellFormed()}…`);

/** Notes what has been told; never undone. */
export async function markTold(pool: pg.Pool, taskUid: string, round: number, told: 'status' | 'report'): Promise<void> {
  await pool.query(`update report.rounds set ${told === 'status' ? 'status_written' : 'announced'} = true where task_uid = $1 and round = $2`, [taskUid, round]);
}
