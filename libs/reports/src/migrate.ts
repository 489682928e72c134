import { Client } from 'pg';
import { migrations } from './migrations/list.ts';

/** Advisory lock under which report migrations run; any number, the same in all versions. */
const migrationLock = 7_270_001;

/**
 * Brings the schemas `report` and `grafana` up to date; safe to call from many processes at once and cheap when there is
 * nothing to do. Throws when the database cannot be reached or is newer than this program.
 */
export async function migrateReports(databaseUrl: string): Promise<void> {
  const guard = new Client({ connectionString: databaseUrl, application_name: 'roundsman report migration', connectionTimeoutMillis: 5_000 });
  guard.on('error', () => undefined); // The query that was running rejects with it.
  await guard.connect();
  try {
    await guard.query('select pg_advisory_lock($1)', [migrationLock]);
    const names: string[] = migrations.map((Migration) => new Migration().name);
    const applied = await appliedNames(guard);
    const unknown = applied.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`the report tables were migrated by a newer version of Roundsman (${unknown.join(', ')})`);
    if (names.every((name) => applied.includes(name))) return;
    await guard.query('create schema if not exists report');
    const source = await reportDataSource(databaseUrl);
    try {
      await source.runMigrations({ transaction: 'all' });
    } finally {
      await source.destroy();
    }
  } finally {
    await guard.end();
  }
}

async function appliedNames(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ there: boolean }>(`select to_regclass('report.migrations') is not null as there`);
  if (rows[0]?.there !== true) return [];
  const applied = await client.query<{ name: string }>('select name from report.migrations order by id');
  return applied.rows.map((row) => row.name);
}

/** TypeORM is loaded only here: a start without news never pays for it. */
export async function reportDataSource(databaseUrl: string) {
  await import('reflect-metadata');
  const { DataSource } = await import('typeorm');
  const source = new DataSource({
    type: 'postgres',
    url: databaseUrl,
    schema: 'report',
    synchronize: false,
    migrationsTableName: 'migrations',
    migrations: [...migrations],
    extra: { max: 1, application_name: 'roundsman report migration' },
  });
  return source.initialize();
}
