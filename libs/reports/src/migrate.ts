import pg from 'pg';

/** Advisory lock under which report migrations run; any number, the same in all versions. */
const migrationLock = 7_270_001;

/** Brings the schemas `report` and `grafana` up to date; safe to call from many processes at once. */
export async function migrateReports(databaseUrl: string): Promise<void> {
  const guard = new pg.Client({ connectionString: databaseUrl, application_name: 'roundsman-migrate-reports' });
  await guard.connect();
  try {
    await guard.query('select pg_advisory_lock($1)', [migrationLock]);
    await guard.query('create schema if not exists report');
    const source = await dataSource(databaseUrl);
    try {
      await source.runMigrations({ transaction: 'all' });
    } finally {
      await source.destroy();
    }
  } finally {
    await guard.end();
  }
}

/** TypeORM is loaded only here: services that do not migrate never pay for it. */
export async function dataSource(databaseUrl: string) {
  await import('reflect-metadata');
  const [{ DataSource }, { migrations }] = await Promise.all([import('typeorm'), import('./migrations/list.ts')]);
  return new DataSource({ type: 'postgres', url: databaseUrl, schema: 'report', synchronize: false, migrationsTableName: 'migrations', migrations: [...migrations], poolSize: 2 }).initialize();
}
