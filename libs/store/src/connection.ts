import { createHash } from 'node:crypto';
import { Client, Pool, types, type ClientConfig, type PoolConfig } from 'pg';

/** For the sessions of the store only: pg's own table is shared by everything in the process. */
const parsers: NonNullable<ClientConfig['types']> = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // Versions are far below 2^53.
    if (oid === types.builtins.INT8 && format !== 'binary') return Number;
    // Bodies are parsed where they are needed, mostly after filtering.
    if (oid === types.builtins.JSON && format !== 'binary') return (text: string) => text;
    return types.getTypeParser(oid, format as 'text');
  },
};

/** Limits of every session: an outage must become an error soon, never a hang. Milliseconds. */
export const sessionLimits = { connectMs: 5_000, statementMs: 15_000, idleInTransactionMs: 10_000 } as const;

export function poolConfig(databaseUrl: string, name: string, max: number): PoolConfig {
  return {
    connectionString: databaseUrl,
    types: parsers,
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

export function clientConfig(databaseUrl: string, name: string): ClientConfig {
  return {
    connectionString: databaseUrl,
    types: parsers,
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

export { Client, Pool };
