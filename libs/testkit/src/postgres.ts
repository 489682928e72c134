import { execFile, execFileSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './ports.ts';
import { ServerProcess, temporaryDirectory } from './server-process.ts';

const run = promisify(execFile);

export interface TestPostgres {
  /** `postgres://roundsman@127.0.0.1:<port>/postgres`: the maintenance database. Tests take one from `createDatabase`. */
  readonly url: string;
  /** A new database, a copy of what `prepare` made; its URL. Some ten milliseconds. */
  createDatabase(): Promise<string>;
  /** SIGKILL: as a crash; SIGINT: as `pg_ctl stop -m fast`. */
  kill(signal?: 'SIGKILL' | 'SIGINT'): Promise<void>;
  /** Starts it again after `kill`, or kills and starts it; same port, same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Runs once on the template that every `createDatabase` copies: migrations. Must close its connections. */
  readonly prepare?: (url: string) => Promise<void>;
  /** Server settings beside ours, as `max_connections: '50'`. */
  readonly settings?: Readonly<Record<string, string>>;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root: then the system account `postgres` runs it, or `nobody` where there is none. */
function account(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const of = (name: string): Account => {
    const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  };
  try {
    return of('postgres');
  } catch {
    return of('nobody');
  }
}

/** initdb takes a second or more: its result is kept for this Postgres version and account, and copied. */
async function dataDirectory(target: string, as: Account | undefined): Promise<void> {
  const { stdout } = await run('postgres', ['--version'], { ...as });
  const version = /(\d+(\.\d+)?)/.exec(stdout)?.[1] ?? 'unknown';
  const template = join(tmpdir(), `roundsman-initdb-${version}-${as?.uid ?? process.getuid?.() ?? 0}`);
  if (!existsSync(template)) {
    const made = `${template}.${process.pid}.${Math.random().toString(36).slice(2)}`;
    mkdirSync(made, { mode: 0o700 });
    if (as !== undefined) chownSync(made, as.uid, as.gid);
    await run('initdb', ['-D', made, '-U', 'roundsman', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'], { cwd: '/', ...as });
    try {
      renameSync(made, template);
    } catch {
      // Another test process was quicker; its template is as good.
      rmSync(made, { recursive: true, force: true });
    }
  }
  if (as === undefined) cpSync(template, target, { recursive: true });
  else await run('cp', ['-R', template, target], { cwd: '/', ...as });
}

/** A real Postgres on a free loopback port with its own data and fsync on, gone with this process. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const as = account();
  const directory = temporaryDirectory('postgres');
  if (as !== undefined) chownSync(directory, as.uid, as.gid);
  const data = join(directory, 'data');
  await dataDirectory(data, as);
  let port = 0;
  let server: ServerProcess | undefined;
  let databases = 0;

  const connected = async <T>(database: string, work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ connectionString: urlOf(port, database) });
    client.on('error', () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const up = async (): Promise<void> => {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: '',
      fsync: 'on',
      shared_buffers: '32MB',
      max_connections: '60',
      ...options.settings,
    };
    server = new ServerProcess({
      command: 'postgres',
      args: ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
      logFile: join(directory, 'server.log'),
      directory,
      lastSignal: 'QUIT',
      ...as,
    });
    await server.start();
    const deadline = Date.now() + 30_000;
    for (;;) {
      try {
        await connected('postgres', (client) => client.query('SELECT 1'));
        return;
      } catch (error) {
        if (!server.running || Date.now() > deadline) throw new Error(`postgres did not come up:\n${server.log()}`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  // A killed postmaster's children hold the shared memory for a moment: a second try then succeeds.
  const upAgain = async (): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await up();
        return;
      } catch (error) {
        if (attempt === 20) throw error;
        await server?.kill('SIGKILL');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };

  for (let attempt = 1; ; attempt += 1) {
    port = await freePort();
    try {
      await up();
      break;
    } catch (error) {
      await server?.kill('SIGKILL');
      if (attempt === 3) throw error;
    }
  }
  const template = 'roundsman_template';
  await connected('postgres', (client) => client.query(`CREATE DATABASE ${template}`));
  if (options.prepare !== undefined) await options.prepare(urlOf(port, template));

  const kill = async (signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'): Promise<void> => server?.kill(signal);
  return {
    url: urlOf(port, 'postgres'),
    createDatabase: async () => {
      databases += 1;
      const name = `test_${databases}`;
      await connected('postgres', (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
      return urlOf(port, name);
    },
    kill,
    restart: async () => {
      await kill();
      await upAgain();
    },
    stop: async () => {
      // Immediate shutdown: frees the shared memory, leaves the data for the rm below.
      if (server?.running === true) await server.kill('SIGQUIT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const urlOf = (port: number, database: string): string => `postgres://roundsman@127.0.0.1:${port}/${database}`;
