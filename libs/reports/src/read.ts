import { reportBounds, type ReportObject, type TargetReport, type TaskKind, type VerdictState } from '@roundsman/api';
import type pg from 'pg';
import { reportPool, type PoolOptions } from './pool.ts';
import { matrixOf } from './matrix.ts';
import { reportObject, roundColumns, runnerReport, targetColumns, targetReport, type RoundRow, type RunnerBrief, type TargetRow } from './render.ts';
import { loadRunners } from './runners.ts';
import { kdoctorReport, type KdoctorReport, type KdoctorTask } from './kdoctor.ts';

/** Equalities that rounds must meet; absent ones are not asked for. */
export interface RoundFilter {
  readonly namespace?: string;
  readonly kind?: TaskKind;
  readonly task?: string;
  readonly taskUid?: string;
  readonly round?: number;
  readonly state?: string;
  readonly verdict?: VerdictState;
  /** Name of the round report. */
  readonly name?: string;
}
export interface Page {
  /** Items at most; all when absent. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
}
export interface ReportList {
  /** Follow with `changes(version)`. */
  readonly version: number;
  readonly items: ReportObject[];
  readonly next?: string;
  /** Items after this page. */
  readonly remaining: number;
}
/** A round was closed (its report is there now) or removed by retention. Versions strictly increase. */
export type ReportChange =
  | { readonly type: 'closed'; readonly version: number; /** As in lists. */ readonly report: ReportObject }
  | { readonly type: 'removed'; readonly version: number; readonly taskUid: string; readonly round: number; readonly kind: TaskKind; readonly namespace: string; readonly task: string; readonly name: string };

/** `after` is not a token of this list. */
export class BadPageToken extends Error {
  override readonly name = 'BadPageToken';
}

/** Reports as the gateway serves them. Objects in lists and changes carry no perRunner, perTarget and matrix. */
export interface Reports {
  /** Version of the last change; 0 when there was none. */
  version(): Promise<number>;
  /** The last closed round of a task, whole (within `reportBounds`); undefined when none is closed. */
  latest(taskUid: string): Promise<ReportObject | undefined>;
  /** A round by its report's name, whole. */
  round(namespace: string, name: string): Promise<ReportObject | undefined>;
  /** The last closed round of each of these tasks, by namespace and name. */
  listLatest(taskUids: readonly string[], page?: Page): Promise<ReportList>;
  /** Every kept round, by namespace, kind, task and round. */
  listRounds(filter: RoundFilter, page?: Page): Promise<ReportList>;
  /** What happened after a version, in order, at most `limit`. */
  changes(after: number, limit: number): Promise<{ changes: ReportChange[]; more: boolean }>;
  /** One page of a round's targets, beyond what a report holds; bad ones first. */
  targets(taskUid: string, round: number, page: { offset: number; limit: number }): Promise<TargetReport[]>;
  /** The last closed round in kdoctor's schema; undefined when none is closed. */
  kdoctor(task: KdoctorTask): Promise<KdoctorReport | undefined>;
  close(): Promise<void>;
}

export function openReports(databaseUrl: string, options: Partial<PoolOptions> = {}): Reports {
  const pool = reportPool(databaseUrl, { name: 'roundsman-reports', connections: 4, statementMs: 30_000, onError: () => undefined, ...options });
  return {
    version: () => headVersion(pool),
    latest: (taskUid) => whole(pool, 'Report', `r.task_uid = $1 order by r.round desc limit 1`, [taskUid]),
    round: (namespace, name) => whole(pool, 'RoundReport', `r.namespace = $1 and r.name = $2 order by r.closed_at desc limit 1`, [namespace, name]),
    listLatest: (taskUids, page = {}) =>
      list(pool, 'Report', page, `from unnest($1::text[]) t (uid) cross join lateral (select * from report.rounds where task_uid = t.uid and closed_at is not null order by round desc limit 1) r`, 'true', [taskUids]),
    listRounds: (filter, page = {}) => {
      const { where, values } = conditions(filter);
      return list(pool, 'RoundReport', page, 'from report.rounds r', where, values);
    },
    changes: (after, limit) => changes(pool, after, limit),
    targets: (taskUid, round, { offset, limit }) => targetsOf(pool, taskUid, round, offset, limit),
    kdoctor: async (task) => {
      const row = await oneRound(pool, `r.task_uid = $1 order by r.round desc limit 1`, [task.uid]);
      if (row === undefined) return undefined;
      return kdoctorReport(task, row, await loadRunners(pool, row.taskUid, row.round), await targetRows(pool, row, 0, reportBounds.perTarget));
    },
    close: () => pool.end(),
  };
}

async function headVersion(client: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `select greatest((select max(report_version) from report.rounds), (select max(report_version) from report.retired), 0)::float8 as version`,
  );
  return rows[0]!.version;
}

async function oneRound(pool: pg.Pool, where: string, values: unknown[]): Promise<RoundRow | undefined> {
  const { rows } = await pool.query<RoundRow>(`select ${roundColumns} from report.rounds r where r.closed_at is not null and ${where}`, values);
  return rows[0];
}

async function whole(pool: pg.Pool, kind: ReportObject['kind'], where: string, values: unknown[]): Promise<ReportObject | undefined> {
  const row = await oneRound(pool, where, values);
  if (row === undefined) return undefined;
  const [runners, rows] = await Promise.all([loadRunners(pool, row.taskUid, row.round), targetRows(pool, row, 0, reportBounds.perTarget)]);
  const matrix = await matrixOf(pool, row, runners);
  const report = reportObject(kind, row, runners);
  const canceled = row.state === 'canceled';
  report.status.perRunner = runners.map((runner) => runnerReport(runner, canceled));
  report.status.perTarget = rows.map((target) => targetReport(target, canceled));
  if (matrix.shown.cells.length > 0) report.status.matrix = matrix.shown;
  const omitted = { perTarget: row.targets - rows.length, matrix: matrix.cells - matrix.shown.cells.length };
  if (omitted.perTarget > 0 || omitted.matrix > 0) {
    report.status.omitted = { ...(omitted.perTarget > 0 ? { perTarget: omitted.perTarget } : {}), ...(omitted.matrix > 0 ? { matrix: omitted.matrix } : {}) };
  }
  return report;
}

async function targetRows(pool: pg.Pool, { taskUid, round, start }: Pick<RoundRow, 'taskUid' | 'round' | 'start'>, offset: number, limit: number): Promise<TargetRow[]> {
  const { rows } = await pool.query<TargetRow>(
    `select ${targetColumns} from report.results x left join report.runner_rounds rr on rr.task_uid = x.task_uid and rr.round = x.round and rr.runner = x.runner
     where x.round_start = $3 and x.task_uid = $1 and x.round = $2 order by x.ok, x.runner, x.target offset $4 limit $5`,
    [taskUid, round, start, offset, limit],
  );
  return rows;
}

async function targetsOf(pool: pg.Pool, taskUid: string, round: number, offset: number, limit: number): Promise<TargetReport[]> {
  const row = await oneRound(pool, 'r.task_uid = $1 and r.round = $2', [taskUid, round]);
  return row === undefined ? [] : (await targetRows(pool, row, offset, limit)).map((target) => targetReport(target, row.state === 'canceled'));
}

/** The order of lists; also what a page token holds. */
const order = ['namespace', 'kind', 'task', 'task_uid', 'round'] as const;

async function list(pool: pg.Pool, kind: ReportObject['kind'], page: Page, from: string, where: string, values: readonly unknown[]): Promise<ReportList> {
  const params = [...values];
  let position = 'true';
  if (page.after !== undefined) {
    const at = decodeToken(page.after);
    position = `(r.namespace, r.kind, r.task, r.task_uid, r.round) > (${at.map((value, i) => `$${params.push(value)}::${i === 4 ? 'int' : 'text'}`).join()})`;
  }
  const all = `${from} where r.closed_at is not null and ${where} and ${position}`;
  const client = await pool.connect();
  let broken = true;
  try {
    // One snapshot: nothing in the list is newer than its version, and nothing older is missing.
    await client.query('begin isolation level repeatable read read only');
    const version = await headVersion(client);
    const limited = page.limit === undefined ? '' : ` limit $${params.push(page.limit)}`;
    const { rows } = await client.query<RoundRow>(`select ${roundColumns} ${all} order by ${order.map((column) => `r.${column}`).join()}${limited}`, params);
    const full = page.limit !== undefined && rows.length === page.limit;
    const total = full ? (await client.query<{ n: number }>(`select count(*)::int as n ${all}`, params.slice(0, -1))).rows[0]!.n : rows.length;
    const items = await withRunners(client, kind, rows);
    await client.query('commit');
    broken = false;
    const last = rows.at(-1);
    return { version, items, remaining: total - rows.length, ...(total > rows.length && last !== undefined ? { next: encodeToken(last) } : {}) };
  } finally {
    client.release(broken);
  }
}

async function withRunners(client: pg.PoolClient | pg.Pool, kind: ReportObject['kind'], rows: readonly RoundRow[]): Promise<ReportObject[]> {
  if (rows.length === 0) return [];
  const runners = await client.query<RunnerBrief & { taskUid: string; round: number }>(
    `select x.task_uid as "taskUid", x.round, x.runner, x.node, x.state, x.reason, x.starvation from report.runner_rounds x
     join unnest($1::text[], $2::int[]) k (uid, round) on x.task_uid = k.uid and x.round = k.round order by x.runner`,
    [rows.map((row) => row.taskUid), rows.map((row) => row.round)],
  );
  const of = Map.groupBy(runners.rows, ({ taskUid, round }) => `${taskUid}\n${round}`);
  return rows.map((row) => reportObject(kind, row, of.get(`${row.taskUid}\n${row.round}`) ?? []));
}

async function changes(pool: pg.Pool, after: number, limit: number): Promise<{ changes: ReportChange[]; more: boolean }> {
  const closed = await pool.query<RoundRow>(`select ${roundColumns} from report.rounds r where r.report_version > $1 order by r.report_version limit $2`, [after, limit + 1]);
  const removed = await pool.query<Extract<ReportChange, { type: 'removed' }>>(
    `select 'removed' as type, report_version::float8 as version, task_uid as "taskUid", round, kind, namespace, task, name from report.retired where report_version > $1 order by report_version limit $2`,
    [after, limit + 1],
  );
  const reports = await withRunners(pool, 'RoundReport', closed.rows);
  const all: ReportChange[] = [...closed.rows.map(({ version }, i) => ({ type: 'closed' as const, version, report: reports[i]! })), ...removed.rows].sort((a, b) => a.version - b.version);
  return { changes: all.slice(0, limit), more: all.length > limit };
}

function conditions(filter: RoundFilter): { where: string; values: unknown[] } {
  const columns = { namespace: 'r.namespace', kind: 'r.kind', task: 'r.task', taskUid: 'r.task_uid', round: 'r.round', state: 'r.state', verdict: 'r.verdict', name: 'r.name' } as const;
  const values: unknown[] = [];
  const terms = (Object.keys(columns) as (keyof RoundFilter)[]).filter((key) => filter[key] !== undefined).map((key) => `${columns[key]} = $${values.push(filter[key])}`);
  return { where: terms.length === 0 ? 'true' : terms.join(' and '), values };
}

function encodeToken(row: RoundRow): string {
  return Buffer.from(JSON.stringify([row.namespace, row.kind, row.task, row.taskUid, row.round])).toString('base64url');
}
function decodeToken(token: string): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    value = undefined;
  }
  if (!Array.isArray(value) || value.length !== 5 || !value.every((member, i) => (i === 4 ? Number.isInteger(member) : typeof member === 'string'))) {
    throw new BadPageToken('the continue token is not one of this list; start from the beginning');
  }
  return value;
}
