import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { eventually, startNats, startPostgres } from './index.ts';
import type { TestNats, TestPostgres } from './index.ts';
import { ensureStreams, messages, serviceIdentity } from '@roundsman/bus';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

const listening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

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
  const report = {
    kind: 'NetReach' as const, namespace: 'default', task: 't', taskUid: 'u', round: 1, roundStart: '2026-01-01T00:00:00Z', closedAt: '2026-01-01T00:00:00Z', state: 'succeed' as const,
    verdict: { state: 'healthy', summary: '' }, totals: { planned: 0, sent: 0, succeeded: 0, failed: 0, unsent: 0 }, nodes: { succeeded: [], failed: [], missing: [] },
  };

  it('keeps what a stream holds over a SIGKILL and loses it when wiped', async () => {
    const append = async (): Promise<boolean> => {
      const bus = await nats.connect('reporter');
      await ensureStreams(bus);
      const { duplicate } = await bus.append(messages.report, { kind: 'NetReach', namespace: 'default', task: 't' }, report, { msgId: 'once' });
      await bus.close();
      return duplicate;
    };
    expect(await append()).toBe(false);
    await nats.kill('SIGKILL');
    await nats.restart();
    expect(await append()).toBe(true);
    await nats.wipe();
    expect(await append()).toBe(false);
  });

  it('knows the identities it was started with', async () => {
    const closed = await startNats({ identities: [serviceIdentity('gateway')] });
    expect((await closed.connect('gateway')).health()).toMatchObject({ connected: true, violations: [] });
    await expect(closed.connect('intake')).rejects.toThrow('without the identity intake');
    await closed.stop();
  });
});

describe('servers', () => {
  it('end, and leave no files, when their test process is killed', async () => {
    // Compiled, as everything that runs in a process of its own; the build comes before the tests.
    const index = new URL('../dist/index.js', import.meta.url);
    const script = `import { startNats, startPostgres } from '${index.href}';
      const [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
      console.log(JSON.stringify([nats.port, Number(new URL(postgres.url).port)]));
      setInterval(() => {}, 1000);`;
    const tmp = mkdtempSync(join(tmpdir(), 'roundsman-killed-'));
    // Not one that another test process is making: that has more behind its name.
    const initdb = readdirSync(tmpdir()).find((name) => /^roundsman-initdb-[\d.]+-\d+$/.test(name));
    if (initdb !== undefined) await promisify(execFile)('cp', ['-a', join(tmpdir(), initdb), tmp]);
    // As /tmp itself is: Postgres' own account makes and removes its directory inside.
    chmodSync(tmp, 0o1777);
    const victim = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: new URL('.', import.meta.url),
      env: { ...process.env, TMPDIR: tmp },
    });
    const line = await new Promise<string>((resolve, reject) => {
      victim.stdout.once('data', (data: Buffer) => resolve(data.toString()));
      victim.once('exit', (code) => reject(new Error(`ended with ${code}`)));
    });
    const ports = JSON.parse(line) as number[];
    for (const port of ports) expect(await listening(port)).toBe(true);
    expect(readdirSync(tmp).filter((name) => !name.includes('initdb'))).toHaveLength(2);
    victim.kill('SIGKILL');
    await eventually(async () => {
      for (const port of ports) expect(await listening(port)).toBe(false);
      expect(readdirSync(tmp).filter((name) => !name.includes('initdb'))).toEqual([]);
    }, { within: 15_000 });
    rmSync(tmp, { recursive: true, force: true });
  });
});

describe('eventually', () => {
  it('answers what the check answers at last', async () => {
    let count = 0;
    expect(await eventually(() => (count += 1) === 3 && 'third')).toBe('third');
    await eventually(() => expect((count += 1)).toBeGreaterThan(5));
  });

  it('says what was wrong when time is up', async () => {
    await expect(eventually(() => expect(1).toBe(2), { within: 60 })).rejects.toThrow(/not within 60 ms: .*toBe/s);
    await expect(eventually(() => false, { within: 60 })).rejects.toThrow(/not within 60 ms: still false: .*false/);
  });
});
