import type pg from 'pg';

/** Days before this were removed (milliseconds); 0 when none ever was. Never goes back. */
export async function removedUpTo(client: pg.ClientBase | pg.Pool): Promise<number> {
  const { rows } = await client.query<{ upto: Date }>({ name: 'report-removed-up-to', text: `select upto from report.rollup_state where name = 'removed'` });
  return rows[0]?.upto.getTime() ?? 0;
}

/** Rounds that started before this are not taken in any more, milliseconds: by age, or because their day is gone already. */
export async function keptFrom(client: pg.ClientBase | pg.Pool, retentionMs: number, now = Date.now()): Promise<number> {
  return Math.max(now - retentionMs, await removedUpTo(client));
}

/** Noted before the days are removed, so that nobody makes one of them anew or rolls it up again. */
export async function noteRemoved(client: pg.ClientBase, upTo: number): Promise<void> {
  await client.query(
    `insert into report.rollup_state as s values ('removed', $1) on conflict (name) do update set upto = excluded.upto where s.upto < excluded.upto`,
    [new Date(upTo)],
  );
}
