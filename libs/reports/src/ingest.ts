import { roundObjectName, type RoundResult } from '@roundsman/api';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { CopyRows } from './copy.ts';
import { dayMs, ensurePartition, perDay } from './partitions.ts';
import { rollBack } from './pool.ts';
import { keptFrom } from './retained.ts';
import { failureColumns, resultColumns, writeFailures, writeResult } from './rows.ts';

/**
 * What became of one result message. `stored`: now in Postgres. `duplicate`: was there already. `late`: its round was closed
 * before; dropped. `expired`: older than what is kept; if its round is known, only that the runner reported is recorded.
 */
export type PartOutcome = 'stored' | 'duplicate' | 'late' | 'expired';

export interface IngestResult {
  /** One per message, in the order given. */
  readonly outcomes: PartOutcome[];
  /** Rows of `report.results` written. */
  readonly rows: number;
  /** Runners whose result is now whole. */
  readonly completed: { taskUid: string; round: number; runner: string }[];
}

export interface IngestOptions {
  /** Results of rounds that started longer ago are not kept. */
  readonly retentionMs: number;
}

interface Item {
  readonly part: RoundResult;
  /** The round's start, milliseconds: as its row has it, whatever this message says, so that all its rows lie together. */
  start: number;
  readonly round: string;
  readonly key: string;
}

const uniqueViolation = '23505';
const noPartition = '23514';

/**
 * Stores result messages. A part is claimed, its rows are copied and its runner is brought forward in one transaction, so
 * redelivery, reordering and several writers change nothing. One call at a time per instance; each holds one connection.
 */
export class Ingest {
  readonly #results = new CopyRows(4 << 20);
  readonly #failures = new CopyRows(64 << 10);
  readonly #days = new Set<number>();

  constructor(
    private readonly pool: Pool,
    private readonly options: IngestOptions,
  ) {}

  /** Commits all of them or throws and has changed nothing. Every message must have passed `resultProblem`. */
  async store(parts: readonly RoundResult[]): Promise<IngestResult> {
    const items = parts.map((part): Item => {
      const round = `${part.taskUid}\n${part.round}`;
      return { part, start: Date.parse(part.roundStart), round, key: `${round}\n${part.runner}\n${part.parts}\n${part.part}` };
    });
    const client = await this.pool.connect();
    let broken = true;
    try {
      const horizon = await keptFrom(client, this.options.retentionMs);
      for (let merge = false, renewed = false; ; ) {
        try {
          await this.#ensureDays(client, items.filter(({ start }) => start >= horizon));
          const result = await this.#transaction(client, items, horizon, merge);
          broken = false;
          return result;
        } catch (error) {
          if (!(await rollBack(client, error))) throw error;
          // A runner measured a target twice (it lost its spool and ran again): keep what came first.
          if (codeOf(error) === uniqueViolation && !merge) merge = true;
          else if (error instanceof MissingDay) await this.#ensureDays(client, [error]);
          else if (codeOf(error) === noPartition && !renewed) {
            // Retention has dropped it since.
            renewed = true;
            this.#days.clear();
          } else {
            broken = false;
            throw error;
          }
        }
      }
    } finally {
      client.release(broken);
    }
  }

  /** Counts late messages of closed rounds; apart from `store`, as nothing else depends on it. */
  async countLate(late: readonly RoundResult[]): Promise<void> {
    const counts = new Map<string, { uid: string; round: number; n: number }>();
    for (const { taskUid: uid, round } of late) {
      const key = `${uid}\n${round}`;
      const entry = counts.get(key);
      if (entry === undefined) counts.set(key, { uid, round, n: 1 });
      else entry.n += 1;
    }
    for (const { uid, round, n } of counts.values()) {
      await this.pool.query('update report.rounds set late_results = late_results + $3 where task_uid = $1 and round = $2', [uid, round, n]);
    }
  }

  async #ensureDays(client: PoolClient, items: readonly { start: number }[]): Promise<void> {
    for (const { start } of items) {
      const day = Math.floor(start / dayMs);
      if (this.#days.has(day)) continue;
      for (const partitioned of perDay) await ensurePartition(client, partitioned, start);
      this.#days.add(day);
    }
  }

  async #transaction(client: PoolClient, items: readonly Item[], horizon: number, merge: boolean): Promise<IngestResult> {
    await client.query('begin');
    const rounds = await this.#lockRounds(client, items, horizon);
    const outcomes = await claim(client, items, rounds);
    const kept: Item[] = [];
    items.forEach((item, i) => {
      if (outcomes[i] !== 'stored') return;
      if (item.start < horizon) outcomes[i] = 'expired';
      else kept.push(item);
    });
    const rows = merge ? await this.#merge(client, kept) : await this.#copy(client, kept);
    const touched = items.filter(({ round }, i) => (outcomes[i] === 'stored' || outcomes[i] === 'expired') && rounds.has(round));
    const completed = await bringForward(client, touched);
    await client.query('commit');
    return { outcomes, rows, completed };
  }

  /** Holds the rounds open until commit, making those not known yet unless they are too old. Answers the known ones: are they closed already? */
  async #lockRounds(client: PoolClient, items: readonly Item[], horizon: number): Promise<Map<string, boolean>> {
    const rounds = new Map<string, RoundResult>();
    for (const { round, part } of items) if (!rounds.has(round)) rounds.set(round, part);
    const all = [...rounds.values()];
    const keys = [all.map((part) => part.taskUid), all.map((part) => part.round)];
    let { rows } = await client.query<LockedRound>({ ...lockRounds, values: keys });
    if (rows.length < rounds.size) {
      const known = new Set(rows.map(({ uid, round }) => `${uid}\n${round}`));
      const missing = [...rounds].filter(([key, part]) => !known.has(key) && Date.parse(part.roundStart) >= horizon).map(([, part]) => part);
      if (missing.length > 0) {
        await client.query({
          ...addRounds,
          values: [
            missing.map((part) => part.taskUid), missing.map((part) => part.round), missing.map((part) => part.kind), missing.map((part) => part.namespace),
            missing.map((part) => part.task), missing.map((part) => roundObjectName(part.kind, part.task, part.taskUid, part.round)), missing.map((part) => part.roundStart),
          ],
        });
        ({ rows } = await client.query<LockedRound>({ ...lockRounds, values: keys }));
      }
    }
    const starts = new Map(rows.map(({ uid, round, start }) => [`${uid}\n${round}`, start]));
    for (const item of items) {
      item.start = starts.get(item.round) ?? item.start;
      if (item.start >= horizon && !this.#days.has(Math.floor(item.start / dayMs))) throw new MissingDay(item.start);
    }
    return new Map(rows.map(({ uid, round, closed }) => [`${uid}\n${round}`, closed]));
  }

  async #copy(client: PoolClient, items: readonly Item[]): Promise<number> {
    this.#encode(items);
    if (this.#results.rows > 0) await copyInto(client, `report.results (${resultColumns.join()})`, this.#results.finish());
    if (this.#failures.rows > 0) await copyInto(client, `report.failures (${failureColumns.join()})`, this.#failures.finish());
    return this.#results.rows;
  }

  /** The slow way in, for when some of the rows exist: through a staging table, raw failures only of rows that are new. */
  async #merge(client: PoolClient, items: readonly Item[]): Promise<number> {
    this.#encode(items);
    await client.query(`create temp table staged_results (like report.results) on commit drop; create temp table staged_failures (like report.failures) on commit drop;`);
    await copyInto(client, `staged_results (${resultColumns.join()})`, this.#results.finish());
    await copyInto(client, `staged_failures (${failureColumns.join()})`, this.#failures.finish());
    const { rows } = await client.query<{ n: number }>(`
      with added as (
        insert into report.results select distinct on (round_start, task_uid, round, runner, target) * from staged_results
        order by round_start, task_uid, round, runner, target on conflict do nothing returning round_start, task_uid, round, runner, target
      ), failures as (
        insert into report.failures select f.* from staged_failures f join added using (round_start, task_uid, round, runner, target)
      )
      select count(*)::int as n from added`);
    return rows[0]!.n;
  }

  #encode(items: readonly Item[]): void {
    this.#results.reset();
    this.#failures.reset();
    for (const { part, start } of items) {
      for (const target of part.targets) {
        writeResult(this.#results, part, start, target);
        if (target.failures.length > 0) writeFailures(this.#failures, part, start, target);
      }
    }
  }
}

/** The transaction must start again after the partition of that day was made. */
class MissingDay extends Error {
  constructor(readonly start: number) {
    super('no partition for this day yet');
  }
}

interface LockedRound {
  uid: string;
  round: number;
  start: number;
  closed: boolean;
}
/** Shared: writers of one round do not wait for each other, its close waits for all of them. Ordered, so that none deadlock. */
const lockRounds = {
  name: 'report-lock-rounds',
  text: `select r.task_uid as uid, r.round, (extract(epoch from r.round_start) * 1000)::float8 as start, r.closed_at is not null as closed from report.rounds r
         join unnest($1::text[], $2::int[]) k (uid, round) on r.task_uid = k.uid and r.round = k.round order by 1, 2 for share of r`,
};
const addRounds = {
  name: 'report-add-rounds',
  text: `insert into report.rounds (task_uid, round, kind, namespace, task, name, round_start)
         select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[]) order by 1, 2 on conflict do nothing`,
};
const claimParts = {
  name: 'report-claim-parts',
  text: `insert into report.parts (task_uid, round, runner, parts, part)
         select * from unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::int[]) order by 1, 2, 3, 4, 5 on conflict do nothing
         returning task_uid, round, runner, parts, part`,
};
const knownParts = {
  name: 'report-known-parts',
  text: `select task_uid, round, runner, parts, part from report.parts
         join unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::int[]) k (task_uid, round, runner, parts, part) using (task_uid, round, runner, parts, part)`,
};
const noteOutcomes = {
  name: 'report-note-outcomes',
  text: `insert into report.runner_rounds as r (task_uid, round, runner, node, parts, outcome_state, outcome_reason, started_at, ended_at, target_count, starvation, running_load, cut)
         select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::int[], $11::json[], $12::json[], $13::text[])
         order by 1, 2, 3
         on conflict (task_uid, round, runner) do update set parts = excluded.parts, outcome_state = excluded.outcome_state, outcome_reason = excluded.outcome_reason,
           started_at = excluded.started_at, ended_at = excluded.ended_at, target_count = excluded.target_count, starvation = excluded.starvation, running_load = excluded.running_load, cut = excluded.cut
         where r.state is null and excluded.outcome_state is not null`,
};
const completeRunners = {
  name: 'report-complete-runners',
  text: `update report.runner_rounds r set state = outcome_state, reason = outcome_reason, recorded_at = now()
         from unnest($1::text[], $2::int[], $3::text[]) k (uid, round, runner)
         where r.task_uid = k.uid and r.round = k.round and r.runner = k.runner and r.state is null and r.outcome_state is not null
           and r.parts <= (select count(*) from report.parts p where p.task_uid = k.uid and p.round = k.round and p.runner = k.runner and p.parts = r.parts)
         returning r.task_uid as "taskUid", r.round, r.runner`,
};

interface PartKey {
  task_uid: string;
  round: number;
  runner: string;
  parts: number;
  part: number;
}
const keyOf = (row: PartKey): string => `${row.task_uid}\n${row.round}\n${row.runner}\n${row.parts}\n${row.part}`;
const columnsOf = (items: readonly Item[]): unknown[][] => [
  items.map(({ part }) => part.taskUid), items.map(({ part }) => part.round), items.map(({ part }) => part.runner), items.map(({ part }) => part.parts), items.map(({ part }) => part.part),
];

/** Says of each message whether it is new, and marks the new ones as received. Rounds: the known ones, true when closed. */
async function claim(client: PoolClient, items: readonly Item[], rounds: ReadonlyMap<string, boolean>): Promise<PartOutcome[]> {
  const open = items.filter(({ round }) => rounds.get(round) === false);
  const over = items.filter(({ round }) => rounds.get(round) === true);
  const fresh = new Set<string>();
  const known = new Set<string>();
  if (open.length > 0) for (const row of (await client.query<PartKey>({ ...claimParts, values: columnsOf(open) })).rows) fresh.add(keyOf(row));
  if (over.length > 0) for (const row of (await client.query<PartKey>({ ...knownParts, values: columnsOf(over) })).rows) known.add(keyOf(row));
  return items.map(({ round, key }) => {
    if (!rounds.has(round)) return 'expired';
    if (rounds.get(round) === true) return known.has(key) ? 'duplicate' : 'late';
    // Twice in one batch: only the first is stored.
    return fresh.delete(key) ? 'stored' : 'duplicate';
  });
}

/** Notes what the runners said, and finishes those whose parts are all in. */
async function bringForward(client: PoolClient, items: readonly Item[]): Promise<IngestResult['completed']> {
  if (items.length === 0) return [];
  const runners = new Map<string, RoundResult>();
  for (const { part, round } of items) {
    const key = `${round}\n${part.runner}`;
    if (part.outcome !== undefined || !runners.has(key)) runners.set(key, part);
  }
  const all = [...runners.values()];
  const uids = all.map((part) => part.taskUid);
  const rounds = all.map((part) => part.round);
  const names = all.map((part) => part.runner);
  await client.query({
    ...noteOutcomes,
    values: [
      uids, rounds, names, all.map((part) => part.node), all.map((part) => part.parts), all.map((part) => part.outcome?.state ?? null), all.map((part) => clean(part.outcome?.reason)),
      all.map((part) => part.outcome?.startedAt ?? null), all.map((part) => part.outcome?.endedAt ?? null), all.map((part) => part.outcome?.targetCount ?? null),
      all.map((part) => jsonOrNull(part.outcome?.starvation)), all.map((part) => jsonOrNull(part.outcome?.runningLoad)), all.map((part) => part.outcome?.cut ?? null),
    ],
  });
  return (await client.query<IngestResult['completed'][number]>({ ...completeRunners, values: [uids, rounds, names] })).rows;
}

async function copyInto(client: PoolClient, table: string, data: Buffer): Promise<void> {
  const stream = client.query(copyFrom(`copy ${table} from stdin (format binary)`));
  await new Promise<void>((resolve, reject) => {
    // More than one may come: one that was given up fails once more with its connection.
    stream.on('error', reject);
    stream.once('finish', resolve);
    stream.end(data);
  });
}

/** Postgres refused what a message says (and would refuse it again), rather than being unable to answer. */
export function isDataError(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (code.startsWith('22') || code.startsWith('23'));
}

/** Postgres holds no NUL, and jsonb no half of a surrogate pair. */
function clean(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll('\0', '\uFFFD');
}
function jsonOrNull(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? member.replaceAll('\0', '\uFFFD').toWellFormed() : member));
}
function codeOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}
