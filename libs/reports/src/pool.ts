import pg from 'pg';

export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** A connection broke while nobody used it; the pool makes a new one. */
  readonly onError: (error: Error) => void;
}

/** A pool that fails within seconds when Postgres is away, so that callers can say so and try again. */
export function reportPool(databaseUrl: string, { name, connections, onError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  });
  pool.on('error', onError);
  return pool;
}
export type ReportPool = pg.Pool;
