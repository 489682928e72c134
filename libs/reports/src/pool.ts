import { Pool, TypeOverrides, types, type ClientBase } from 'pg';

export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** Milliseconds for one statement; default 15,000. */
  readonly statementMs?: number;
  /** A connection broke while nobody used it; the pool makes a new one. */
  readonly onError: (error: Error) => void;
}

/** Ours alone: others in the process may read the same types differently. */
const parsers = new TypeOverrides();
for (const type of [types.builtins.JSON, types.builtins.JSONB]) parsers.setTypeParser(type, (text: string) => JSON.parse(text) as unknown);
parsers.setTypeParser(types.builtins.INT8, Number);

/** Statements are ended by Postgres; after this much more we give up on one that is there and does not answer. */
const answerMs = 1_000;

/** A pool that fails within seconds when Postgres is away or stands still, so that callers can say so and try again. */
export function reportPool(databaseUrl: string, { name, connections, statementMs = 15_000, onError }: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: databaseUrl,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: parsers,
    statement_timeout: statementMs,
    query_timeout: statementMs + answerMs,
    idle_in_transaction_session_timeout: 60_000,
  });
  pool.on('error', onError);
  // While a connection is in use, the query on it rejects and whoever waits for it handles that; without a listener the process would end.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
export type ReportPool = Pool;

/** Undoes the transaction; false when the connection must not be used again: a rollback would wait behind what is not answered. */
export async function rollBack(client: ClientBase, error: unknown): Promise<boolean> {
  if (error instanceof Error && error.message === 'Query read timeout') return false;
  return client.query('rollback').then(
    () => true,
    () => false,
  );
}
