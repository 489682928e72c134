import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

/** How an operating system, a name server, or Postgres itself says that nobody can be spoken to right now. */
const away: ReadonlySet<string> = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND',
  // admin_shutdown, crash_shutdown, cannot_connect_now (it starts, or recovers), too_many_connections, and the connection exceptions.
  '57P01', '57P02', '57P03', '53300', '08000', '08001', '08003', '08004', '08006',
]);
/** The driver has no code for these. */
const broken = /connection terminated|timeout expired|connection timeout|connect timeout/i;

/** Whether this error says that the database is not there, and not that it refuses what was asked. */
export function isAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, cause, errors } = error as { code?: unknown; message?: unknown; cause?: unknown; errors?: unknown };
  if ((typeof code === 'string' && away.has(code)) || (typeof message === 'string' && broken.test(message))) return true;
  // `errors`: a name with several addresses, none of which answers.
  return isAway(cause) || (Array.isArray(errors) && errors.some(isAway));
}

/**
 * Does work that needs the database, again and again until it is there: a product that starts together with its database must
 * not depend on which comes first. Rejects at once with what is not about reaching it (a password, a newer version).
 */
export async function whenThere(work: () => Promise<void>, log: Pick<Logger, 'warn' | 'info'>, { firstMs = 250, mostMs = 5_000 }: { firstMs?: number; mostMs?: number } = {}): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await work();
      if (tries > 0) log.info({ tries }, 'the database is there');
      return;
    } catch (error) {
      if (!isAway(error)) throw error;
      const againMs = Math.min(mostMs, firstMs * 2 ** Math.min(tries, 10));
      log.warn({ err: error, againMs }, 'waiting for the database');
      await pause(againMs);
    }
  }
}
