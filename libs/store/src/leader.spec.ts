import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, startPostgres, type TestPostgres } from '@roundsman/testkit';
import { Client } from 'pg';
import { acquireLeadership } from './leader.ts';

let postgres: TestPostgres;
let url: string;
beforeAll(async () => {
  postgres = await startPostgres();
  url = await postgres.createDatabase();
});
afterAll(() => postgres.stop());

const never = new AbortController().signal;
const acquire = (name: string, signal = never) => acquireLeadership(url, name, signal, { retryMs: 20, heartbeatMs: 50 });

/** Ends the server side of a session, as a crash of the backend would. */
async function terminate(session: Client): Promise<void> {
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
  await other.end();
}

it('has one leader per name, and another as soon as it is released', async () => {
  const first = await acquire('a');
  const elsewhere = await acquire('b');
  let led = false;
  const second = acquire('a').then((leadership) => {
    led = true;
    return leadership;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(led).toBe(false);
  await first.release();
  expect(await first.lost).toBe('released');
  await (await second).release();
  await elsewhere.release();
});

it('tells when the session dies, and nothing can be written on it any more', async () => {
  const first = await acquire('c');
  const second = acquire('c');
  await terminate(first.client);
  expect(await first.lost).toMatch(/terminat|closed/);
  expect(first.held).toBe(false);
  const next = await second;
  await expect(first.client.query('select 1')).rejects.toThrow();
  expect(next.held).toBe(true);
  await next.release();
});

it('waits through an outage of Postgres', async () => {
  const first = await acquire('d');
  await postgres.kill();
  await first.lost;
  const problems: string[] = [];
  const again = acquireLeadership(url, 'd', never, { retryMs: 20, onProblem: (error) => problems.push(error.message) });
  await eventually(() => problems.length > 0);
  await postgres.restart();
  const next = await again;
  await next.release();
});

it('stops waiting when told so', async () => {
  const first = await acquire('e');
  const stop = new AbortController();
  const waiting = acquire('e', stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await first.release();
  // The one that stopped waiting must not take the lock after all.
  await (await acquire('e')).release();
});
