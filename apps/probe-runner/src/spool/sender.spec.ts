import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus } from '@roundsman/bus';
import { eventually, roundResult } from '@roundsman/testkit';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunnerLog } from '../log.ts';
import { DoneList } from './done-list.ts';
import { Sender } from './sender.ts';
import { Spool } from './spool.ts';

describe('bringing results to the stream', () => {
  const log: RunnerLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  let folder: string;
  let sender: Sender;
  let spool: Spool;
  let appends: number;
  let up: boolean;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-sender-'));
    [appends, up] = [0, false];
    // Of a server that is away each append fails at once.
    const append = async (): Promise<object> => {
      appends += 1;
      if (!up) throw new Error('not connected');
      return { seq: appends, duplicate: false };
    };
    spool = new Spool({ folder: join(folder, 'spool'), maxBytes: 1 << 20, log });
    await spool.open();
    sender = new Sender({ bus: { append, request: async () => ({ committed: [] }) } as unknown as Bus, spool, done: new DoneList(join(folder, 'done')), runner: 'runner-1', keepMs: 0, log });
    sender.start();
  });
  afterEach(async () => {
    await sender.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('of one that ends is tried often, and goes once the server is there', async () => {
    await spool.put([roundResult('runner-1', [], { taskUid: 'u-1', round: 1 })]);
    sender.kick();
    await eventually(() => expect(appends).toBeGreaterThanOrEqual(2));
    setTimeout(() => (up = true), 300);
    expect(await sender.flush(20_000)).toBe(0);
  });

  it('leaves the process free while it waits, and ends in time with the number of those that are left', async () => {
    await spool.put([roundResult('runner-1', [], { taskUid: 'u-1', round: 1 })]);
    let turns = 0;
    const others = setInterval(() => (turns += 1), 10);
    expect(await sender.flush(2_000)).toBe(1);
    clearInterval(others);
    // Meanwhile the process did other things too, such as making a new connection, and tried some times, not as often as it can.
    expect(turns).toBeGreaterThan(20);
    expect(appends).toBeGreaterThan(1);
    expect(appends).toBeLessThan(20);
  });
});
