import { createHash } from 'node:crypto';
import pg from 'pg';

// Versions are far below 2^53; a string per row would cost a conversion at every use.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
// Bodies are parsed where they are needed, mostly after filtering.
pg.types.setTypeParser(pg.types.builtins.JSON, (text) => text);

/** Limits of every session: an outage must become an error soon, never a hang. Milliseconds. */
export const sessionLimits = { connectMs: 5_000, statementMs: 15_000, idleInTransactionMs: 10_000 } as const;

export function poolConfig(databaseUrl: string, name: string, max: number): pg.PoolConfig {
  return {
    connectionString: databaseUrl,
    application_name: `roundsman ${name}`,
    max,
    connectionTimeoutMillis: sessionLimits.connectMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: sessionLimits.statementMs,
    query_timeout: sessionLimits.statementMs + 1_000,
    idle_in_transaction_session_timeout: sessionLimits.idleInTransactionMs,
    keepAlive: true,
    allowExitOnIdle: true,
  };
}

export function clientConfig(databaseUrl: string, name: string): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: `roundsman ${name}`,
    connectionTimeoutMillis: sessionLimits.connectMs,
    statement_timeout: sessionLimits.statementMs,
    query_timeout: sessionLimits.statementMs + 1_000,
    idle_in_transaction_session_timeout: sessionLimits.idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
}

/** The advisory-lock key of a name: the same in every process. */
export const lockKey = (name: string): string => createHash('sha256').update(`roundsman/${name}`).digest().readBigInt64BE(0).toString();

export { pg };
