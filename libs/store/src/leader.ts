import { Client, clientConfig, lockKey } from './connection.ts';

export interface LeaderOptions {
  /** Milliseconds between two tries to get the lock. */
  readonly retryMs?: number;
  /** Milliseconds between two looks whether the session still lives. */
  readonly heartbeatMs?: number;
  /** Why a try failed, other than that somebody else holds the lock. */
  readonly onProblem?: (problem: Error) => void;
  /** The lock was asked for and somebody else holds it. */
  readonly onStandby?: () => void;
}

/**
 * Leadership held by one Postgres session. Whatever must only be done by the leader is done on `client`: when the session
 * dies, the server frees the lock and nothing sent on it can succeed any more (fencing).
 */
export interface Leadership {
  readonly client: Client;
  /** Resolves with why, once the lock is no longer held. Never rejects. */
  readonly lost: Promise<string>;
  /** False from the moment the loss is known. */
  readonly held: boolean;
  /** Gives the lock up; `lost` resolves. */
  release(): Promise<void>;
}

/**
 * Waits until this process is the only one that holds `name`, trying again through outages. Rejects only when `signal`
 * aborts. A killed leader's lock is free as soon as the server sees its connection go; one
 * that stands still or is cut off loses it after some 10 s.
 */
export async function acquireLeadership(databaseUrl: string, name: string, signal: AbortSignal, options: LeaderOptions = {}): Promise<Leadership> {
  const retryMs = options.retryMs ?? 250;
  let client: Client | undefined;
  let troubles = 0;
  const drop = (): void => {
    if (client !== undefined) void discard(client);
    client = undefined;
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      try {
        client ??= await connect(databaseUrl, name);
        troubles = 0;
        const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockKey(`leader/${name}`)]);
        if (rows[0]?.locked === true) {
          signal.throwIfAborted();
          const session = client;
          client = undefined;
          return hold(session, options.heartbeatMs ?? 2_000);
        }
        options.onStandby?.();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        options.onProblem?.(error as Error);
        drop();
        troubles++;
      }
      await pause(Math.min(retryMs * 2 ** Math.min(troubles, 3), 2_000), signal);
    }
  } finally {
    drop();
  }
}

/** A session without a heartbeat for this long is ended by the server, and its lock with it. */
const silentMs = 8_000;

async function connect(databaseUrl: string, name: string): Promise<Client> {
  const client = new Client(clientConfig(databaseUrl, `leader ${name}`));
  client.on('error', () => undefined); // Every query rejects from then on; that is where it is handled.
  try {
    await client.connect();
    // A leader whose machine vanished is noticed by the server after some 10 s instead of two hours, and one that stands
    // still (stopped, swapped out) as well: its heartbeats are missing.
    await client.query(`set tcp_keepalives_idle = 4; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set tcp_user_timeout = 10000; set idle_session_timeout = ${silentMs}`);
  } catch (error) {
    void discard(client);
    throw error;
  }
  return client;
}

/** Ends a session: politely, and after a second by closing its socket, which a server that hangs would leave open. */
async function discard(client: Client): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, 1_000);
  });
  await Promise.race([client.end().catch(() => undefined), late]);
  clearTimeout(timer);
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

function hold(client: Client, heartbeatMs: number): Leadership {
  let held = true;
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  let timer: NodeJS.Timeout | undefined;
  const end = (why: string): void => {
    if (!held) return;
    held = false;
    clearTimeout(timer);
    resolve(why);
    void discard(client);
  };
  client.on('error', (error) => end(error.message));
  client.on('end', () => end('the database connection was closed'));
  const beat = (): void => {
    timer = setTimeout(() => {
      client.query('select 1').then(beat, (error: Error) => end(error.message));
    }, heartbeatMs);
    timer.unref();
  };
  beat();
  return {
    client,
    lost,
    get held() {
      return held;
    },
    async release() {
      if (!held) return;
      held = false;
      clearTimeout(timer);
      await discard(client);
      resolve('released');
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = (): void => {
    clearTimeout(timer);
    reject(signal.reason as Error);
  };
  const timer = setTimeout(() => {
    signal.removeEventListener('abort', abort);
    resolve();
  }, ms);
  signal.addEventListener('abort', abort, { once: true });
  return promise;
}
