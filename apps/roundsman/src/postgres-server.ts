import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Home, Secrets } from './home.ts';
import { bringPostgres, type PostgresBinaries } from './postgres-binary.ts';
import { ServerProcess } from './server-process.ts';
import { account, reachable, type Account } from './tools.ts';
import { UserError } from './user-error.ts';

export interface PostgresServer {
  readonly process: ServerProcess;
  readonly binaries: PostgresBinaries;
  readonly dataFolder: string;
  /** URL of the owner of everything, for the services. */
  readonly url: string;
  /** URL of the read-only role over the `grafana` schema. */
  readonly grafanaUrl: string;
  stop(): Promise<void>;
}

/** Small: a laptop's idle cost counts. Durability is not traded. */
const settings: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: '80',
  shared_buffers: '32MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  max_wal_size: '512MB',
  min_wal_size: '80MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_parallel_workers: '0',
  max_worker_processes: '2',
  autovacuum_max_workers: '1',
  jit: 'off',
  huge_pages: 'off',
  log_min_messages: 'warning',
  lc_messages: 'C',
};

/** Postgres refuses to run as root: then another account runs it. */
export function postgresAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const found = account('postgres') ?? account('nobody');
  if (!found) throw new UserError('Postgres must not run as root, and this machine has neither an account postgres nor nobody', 'Create one: useradd --system postgres');
  return found;
}

/** In the home where the account can reach it, else under /var/lib/roundsman: a home below /root is closed to others. */
export function dataFolder(home: Home, as: Account | undefined): string {
  const inHome = home.file('data', 'postgres');
  if (as === undefined || existsSync(inHome) || reachable(home.file('data'), as)) return inHome;
  return join(home.outside, 'postgres');
}

/** Starts Postgres over the home's data, made and given its roles on first use. Resolves when it takes connections. */
export async function startPostgres(options: { home: Home; port: number; secrets: Secrets }): Promise<PostgresServer> {
  const { home, port, secrets } = options;
  const as = postgresAccount();
  const data = dataFolder(home, as);
  const versionFile = join(data, 'PG_VERSION');
  const initialised = existsSync(join(data, 'roundsman-ready'));
  const binaries = bringPostgres(initialised ? readFileSync(versionFile, 'utf8').trim() : undefined, as);
  if (!initialised) initialise(data, binaries, secrets, as);
  const server = await ServerProcess.start({
    name: 'postgres',
    command: join(binaries.folder, 'postgres'),
    args: ['-D', data, '-p', String(port), ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    logFile: home.file('logs', 'postgres.log'),
    env: serverEnv(),
    ...(as === undefined ? {} : { uid: as.uid, gid: as.gid }),
  });
  try {
    await server.whenReady(() => saysReady(data, server.recorded.pid), 60_000);
  } catch (error) {
    await server.stop([{ signal: 'SIGQUIT', withinMs: 2_000 }, { signal: 'SIGKILL', withinMs: 2_000 }]);
    throw error;
  }
  const url = (role: string, password: string): string => `postgres://${role}:${password}@127.0.0.1:${port}/roundsman`;
  return {
    process: server,
    binaries,
    dataFolder: data,
    url: url('roundsman', secrets.postgres),
    grafanaUrl: url('grafana_ro', secrets.grafana),
    // Fast shutdown; an immediate one (recovery at the next start) when it hangs.
    stop: () => server.stop([{ signal: 'SIGINT', withinMs: 8_000 }, { signal: 'SIGQUIT', withinMs: 2_000 }, { signal: 'SIGKILL', withinMs: 1_000 }]),
  };
}

/** What pg_ctl waits for: the eighth line of postmaster.pid. */
function saysReady(data: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/** Settings for other Postgres servers (PGDATA, PGPORT) must not leak into ours. */
function serverEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries({ ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' }).filter(([key]) => !key.startsWith('PG')));
}

function initialise(data: string, { folder }: PostgresBinaries, secrets: Secrets, as: Account | undefined): void {
  // Without the last file of a complete set-up these are leftovers of one that was cut off.
  rmSync(data, { recursive: true, force: true });
  if (as !== undefined && !data.startsWith('/var/lib/roundsman/')) chmodSync(dirname(data), 0o711);
  if (as !== undefined) mkdirSync('/var/lib/roundsman', { recursive: true, mode: 0o755 });
  mkdirSync(dirname(data), { recursive: true, mode: 0o711 });
  mkdirSync(data, { mode: 0o700 });
  if (as !== undefined) chownSync(data, as.uid, as.gid);
  run(as, join(folder, 'initdb'), ['-D', data, '-U', 'postgres', '--auth=reject', '-E', 'UTF8', '--locale=C.UTF-8', '--no-instructions']);
  writeOwned(join(data, 'pg_hba.conf'), 'host roundsman roundsman,grafana_ro 127.0.0.1/32 scram-sha-256\n', as);
  // Single-user mode: one statement a line, no server and no client program needed.
  const output = run(as, join(folder, 'postgres'), ['--single', '-D', data, 'postgres'], `${rolesSql(secrets).join('\n')}\n`);
  const wrong = /(ERROR|FATAL|PANIC):.*/.exec(output);
  if (wrong) throw new Error(`Postgres could not make its roles: ${wrong[0]}`);
  writeOwned(join(data, 'roundsman-ready'), '', as);
}

function rolesSql({ postgres, grafana }: Secrets): string[] {
  return [
    `CREATE ROLE roundsman LOGIN PASSWORD '${postgres}'`,
    `CREATE ROLE grafana_ro LOGIN CONNECTION LIMIT 40 PASSWORD '${grafana}'`,
    'ALTER ROLE grafana_ro SET default_transaction_read_only = on',
    "ALTER ROLE grafana_ro SET statement_timeout = '15s'",
    "ALTER ROLE grafana_ro SET idle_in_transaction_session_timeout = '15s'",
    'ALTER ROLE grafana_ro SET search_path = grafana',
    'CREATE DATABASE roundsman OWNER roundsman',
  ];
}

function writeOwned(file: string, text: string, as: Account | undefined): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (as !== undefined) chownSync(file, as.uid, as.gid);
}

function run(as: Account | undefined, command: string, args: readonly string[], input = ''): string {
  const done = spawnSync(command, args, { input, encoding: 'utf8', cwd: '/', env: serverEnv(), ...(as === undefined ? {} : { uid: as.uid, gid: as.gid }) });
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}`;
  if (done.error) throw new Error(`cannot run ${command}${as === undefined ? '' : ` as ${as.name}`}: ${done.error.message}`, { cause: done.error });
  if (done.status !== 0) throw new Error(`${command} failed (exit code ${done.status}): ${output.trim().split('\n').slice(-6).join('\n')}`);
  return output;
}
