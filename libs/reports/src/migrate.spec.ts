import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startPostgres, type TestPostgres } from '@roundsman/testkit';
import { Client } from 'pg';
import { migrateReports, reportDataSource } from './migrate.ts';

let server: TestPostgres;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** Without the row data of the migrations table and the random keys newer versions print. */
const schemaOf = (url: string): string =>
  execFileSync('pg_dump', ['--schema-only', '--no-owner', url], { encoding: 'utf8' }).split('\n').filter((line) => !/^\\(un)?restrict/.test(line)).join('\n');

describe('migrations', () => {
  it('run once, however many processes start at the same time', async () => {
    const url = await server.createDatabase();
    await Promise.all([migrateReports(url), migrateReports(url), migrateReports(url)]);
    await migrateReports(url);
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<{ name: string }>('select name from report.migrations order by id');
    await client.end();
    expect(rows.map(({ name }) => name)).toEqual(['ReportTables1763708400001', 'ReportFunctions1763708400002', 'ReportViews1763708400003', 'ReportLayers1763740800004', 'ReportCuts1763748000005']);
  });

  it('can be undone and done again with the same outcome', async () => {
    const url = await server.createDatabase();
    await migrateReports(url);
    const before = schemaOf(url);
    const source = await reportDataSource(url);
    for (let i = 0; i < 5; i++) await source.undoLastMigration({ transaction: 'all' });
    expect(schemaOf(url)).not.toMatch(/grafana|CREATE TABLE report\.rounds/);
    await source.destroy();
    await migrateReports(url);
    expect(schemaOf(url)).toBe(before);
  });

  it('refuse a database that a newer version has migrated', async () => {
    const url = await server.createDatabase();
    await migrateReports(url);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`insert into report.migrations (timestamp, name) values (9, 'FromTheFuture9')`);
    await client.end();
    await expect(migrateReports(url)).rejects.toThrow('newer version of Roundsman (FromTheFuture9)');
  });
});
