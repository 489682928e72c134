import { Pool, TypeOverrides, types } from 'pg';

export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** A connection broke while nobody used it; the pool makes a new one. */
  readonly onError: (error: Error) => void;
}

/** Ours alone: others in the process may read the same types differently. */
const parsers = new TypeOverrides();
for (const type of [types.builtins.JSON, types.builtins.JSONB]) parsers.setTypeParser(type, (text: string) => JSON.parse(text) as unknown);
parsers.setTypeParser(types.builtins.INT8, Number);

/** A pool that fails within seconds when Postgres is away, so that callers can say so and try again. */
export function reportPool(databaseUrl: string, { name, connections, onError }: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: databaseUrl,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: parsers,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  });
  pool.on('error', onError);
  // While a connection is in use, the query on it rejects and whoever waits for it handles that; without a listener the process would end.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
export type ReportPool = Pool;
