import type pg from 'pg';

/** When a runner's process ended within a round, or not long before that was noticed, and how, in words that continue a sentence. */
export interface RunnerEnd {
  readonly at: Date;
  readonly words: string;
}
/** By the names of runners. */
export type RunnerEnds = ReadonlyMap<string, RunnerEnd>;

/** Notes the ends of runners that reported all the same: they were started again. Those that stayed silent have their record already. */
export async function recordEnds(client: pg.PoolClient, taskUid: string, round: number, ends: RunnerEnds): Promise<void> {
  if (ends.size === 0) return;
  await client.query(
    `update report.runner_rounds x set cut = coalesce(x.cut, 'restarted'), reason = concat_ws('; ', x.reason, k.words)
     from unnest($3::text[], $4::text[]) k (runner, words) where x.task_uid = $1 and x.round = $2 and x.runner = k.runner and x.state not in ('missing', 'canceled')`,
    [taskUid, round, [...ends.keys()], [...ends.values()].map(({ words }) => words)],
  );
}
