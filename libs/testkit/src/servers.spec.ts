import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { eventually, startNats, startPostgres } from './index.ts';
import type { TestNats, TestPostgres } from './index.ts';
import { ensureStreams, messages } from '@roundsman/bus';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

describe('startPostgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres({ prepare: async (url) => void (await query(url, 'CREATE TABLE seen (n int)')) });
  });
  afterAll(() => postgres.stop());

  it('gives every caller its own prepared database', async () => {
    const [a, b] = [await postgres.createDatabase(), await postgres.createDatabase()];
    await query(a, 'INSERT INTO seen VALUES (1)');
    expect(await query(a, 'SELECT n FROM seen')).toEqual([{ n: 1 }]);
    expect(await query(b, 'SELECT n FROM seen')).toEqual([]);
  });

  it('keeps what was committed over a SIGKILL', async () => {
    const url = await postgres.createDatabase();
    await query(url, 'INSERT INTO seen VALUES (7)');
    await postgres.kill('SIGKILL');
    await expect(query(url, 'SELECT 1')).rejects.toThrow();
    await postgres.restart();
    expect(await query(url, 'SELECT n FROM seen')).toEqual([{ n: 7 }]);
  });
});

describe('startNats', () => {
  let nats: TestNats;
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(() => nats.stop());

  it('keeps its streams over a restart and loses them when wiped', async () => {
    const bus = await nats.connect('scheduler');
    await ensureStreams(bus);
    const cancel = { taskUid: 'u', reason: 'r' };
    await nats.restart();
    const got: string[] = [];
    await eventually(() => bus.health().connected);
    await bus.subscribe(messages.nodeCancel, {}, ({ params }) => void got.push(params['node'] ?? ''));
    bus.publish(messages.nodeCancel, { node: 'n1' }, cancel);
    await eventually(() => expect(got).toEqual(['n1']));
  });
});
