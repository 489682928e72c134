import { Client, clientConfig, lockKey } from './connection.ts';

const schema = 'roundsman';
const table = 'store_migrations';
/** Names in the order they run; kept here so that a start without news need not load the migrations, nor TypeORM. */
const names = ['Objects1700000000001'];

/**
 * Brings the tables of the store up to date. Safe to call from several processes at once (advisory lock) and cheap when
 * there is nothing to do. Throws when the database cannot be reached or is newer than this program.
 */
export async function migrateStore(databaseUrl: string): Promise<void> {
  const client = new Client({ ...clientConfig(databaseUrl, 'store migration'), statement_timeout: 0, query_timeout: 0 });
  client.on('error', () => undefined); // The query that was running rejects with it.
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey('store/migrate')]);
    const applied = await appliedNames(client);
    const unknown = applied.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`the database was migrated by a newer version of Roundsman (${unknown.join(', ')})`);
    if (names.every((name) => applied.includes(name))) return;
    await client.query(`create schema if not exists ${schema}`);
    await run(databaseUrl);
  } finally {
    await client.end();
  }
}

async function appliedNames(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ there: boolean }>(`select to_regclass('${schema}.${table}') is not null as there`);
  if (rows[0]?.there !== true) return [];
  const applied = await client.query<{ name: string }>(`select name from ${schema}.${table} order by id`);
  return applied.rows.map((row) => row.name);
}

async function run(databaseUrl: string): Promise<void> {
  await import('reflect-metadata');
  const [{ DataSource }, { Objects1700000000001 }] = await Promise.all([import('typeorm'), import('./migrations/001-objects.ts')]);
  const source = new DataSource({
    type: 'postgres',
    url: databaseUrl,
    schema,
    migrations: [Objects1700000000001],
    migrationsTableName: table,
    migrationsTransactionMode: 'each',
    synchronize: false,
    extra: { max: 1, application_name: 'roundsman store migration' },
  });
  await source.initialize();
  try {
    await source.runMigrations();
  } finally {
    await source.destroy();
  }
}
