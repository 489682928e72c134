import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { roundResult, startPostgres, targetResult, type TestPostgres } from '@roundsman/testkit';
import type { Pool } from 'pg';
import { closeRound } from './close.ts';
import { Ingest } from './ingest.ts';
import { migrateReports } from './migrate.ts';
import { reportPool } from './pool.ts';
import { openRounds } from './rounds.ts';

let server: TestPostgres;
let proxy: Server;
let pool: Pool;
/** Postgres hears nothing any more of the connection that says this; the connection stays. */
let deafAt: string | undefined;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = await startPostgres({ prepare: migrateReports });
});
afterAll(() => server.stop());
beforeEach(async () => {
  const url = new URL(await server.createDatabase());
  const { hostname: host, port } = url;
  proxy = createServer((client) => {
    const upstream = connect(Number(port), host);
    let deaf = false;
    client.on('data', (data) => {
      deaf ||= deafAt !== undefined && data.includes(deafAt);
      if (!deaf) upstream.write(data);
    });
    upstream.on('data', (data) => client.write(data));
    for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(one);
      one.on('close', () => other.destroy()).on('error', () => undefined);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  pool = reportPool(url.href, { name: 'test', connections: 2, statementMs: 1_500, onError: () => undefined });
});
afterEach(async () => {
  deafAt = undefined;
  await pool.end();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  proxy.close();
});

describe('a Postgres that stands still', () => {
  const result = () => roundResult('runner-1', [targetResult('node-1')], { roundStart: new Date().toISOString() });

  it.each(['report-lock-rounds', 'copy report.results', 'commit'])('is given up while results are stored (%s), and they are stored once it answers again', async (where) => {
    const ingest = new Ingest(pool, { retentionMs: 86_400_000 });
    deafAt = where;
    await expect(ingest.store([result()])).rejects.toThrow('Query read timeout');
    deafAt = undefined;
    expect(await ingest.store([result()])).toMatchObject({ outcomes: ['stored'], rows: 1 });
  });

  it('is given up while a round is closed', async () => {
    const one = result();
    await new Ingest(pool, { retentionMs: 86_400_000 }).store([one]);
    const close = () => closeRound(pool, { taskUid: one.taskUid, round: one.round, cause: 'deadline', silent: () => ({ state: 'missing', reason: 'silent' }) });
    deafAt = 'report-runner-totals';
    await expect(close()).rejects.toThrow('Query read timeout');
    deafAt = undefined;
    expect(await close()).toMatchObject({ round: 1 });
    expect(await openRounds(pool)).toEqual([]);
  });
});
