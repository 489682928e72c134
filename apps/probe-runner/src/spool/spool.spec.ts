import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RoundResult } from '@roundsman/api';
import { roundResult, targetResult, workOrder } from '@roundsman/testkit';
import type { RunnerLog } from '../log.ts';
import { partsOf } from '../round/result.ts';
import { DoneList } from './done-list.ts';
import { Journal } from './journal.ts';
import { Spool } from './spool.ts';

describe('what a runner keeps on disk', () => {
  let folder: string;
  const errors: string[] = [];
  const log: RunnerLog = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: (_, message) => void errors.push(message) };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-spool-'));
    errors.length = 0;
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const opened = async (maxBytes = 1 << 20): Promise<Spool> => {
    const spool = new Spool({ folder, maxBytes, log });
    await spool.open();
    return spool;
  };
  const result = (round: number, targets = 1): RoundResult[] => [
    roundResult('runner-1', Array.from({ length: targets }, (_, i) => targetResult(`node-${i}`)), { taskUid: 'u-1', round }),
  ];

  it('gives back after a restart what was put in, oldest first', async () => {
    const spool = await opened();
    for (const round of [3, 1, 2]) await spool.put(result(round));
    const again = await opened();
    expect(again.entries().map(({ key }) => key)).toEqual(['u-1_3', 'u-1_1', 'u-1_2']);
    expect(again.bytes).toBe(spool.bytes);
    expect(await again.read('u-1_2')).toEqual(result(2));
    await again.remove('u-1_2');
    expect(again.has('u-1_2')).toBe(false);
    expect((await opened()).size).toBe(2);
  });

  it('knows which is older also within a millisecond, and by a clock that was set back', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000);
    try {
      const spool = await opened();
      for (const round of [3, 2]) await spool.put(result(round));
      clock.mockReturnValue(1_600_000_000_000);
      await spool.put(result(1));
      const again = await opened();
      await again.put(result(0));
      expect((await opened()).entries().map(({ key }) => key)).toEqual(['u-1_3', 'u-1_2', 'u-1_1', 'u-1_0']);
    } finally {
      clock.mockRestore();
    }
  });

  it('throws the oldest away when it is full, and says so in place of each', async () => {
    const one = Buffer.byteLength(JSON.stringify(result(1, 10)[0]));
    const spool = await opened(3.5 * one);
    for (let round = 1; round <= 5; round += 1) await spool.put(result(round, 10));
    expect(spool.bytes).toBeLessThanOrEqual(3.5 * one);
    expect(spool.dropped).toBe(2);
    expect(errors).toHaveLength(2);
    const markers = spool.entries().filter(({ marker }) => marker).map(({ key }) => key);
    expect(markers).toEqual(['u-1_1', 'u-1_2']);
    const [marker] = await spool.read('u-1_1');
    expect(marker).toMatchObject({ taskUid: 'u-1', round: 1, part: 1, parts: 1, targets: [], outcome: { state: 'error', reason: expect.stringContaining('thrown away'), targetCount: 0 } });
    // They are markers still after a restart.
    expect((await opened()).entries().filter((entry) => entry.marker)).toHaveLength(2);
  });

  it('marks what is in Postgres, over a restart, and gives that up first when it is full', async () => {
    const one = Buffer.byteLength(JSON.stringify(result(1, 10)[0]));
    const spool = await opened(3.5 * one);
    for (const round of [1, 2, 3]) await spool.put(result(round, 10));
    await spool.mark('u-1_2', 1_700_000_000_000);
    const again = await opened(3.5 * one);
    expect(again.entries().map(({ key, committedAt }) => [key, committedAt])).toEqual([['u-1_1', undefined], ['u-1_2', 1_700_000_000_000], ['u-1_3', undefined]]);
    expect([again.size, again.pending]).toEqual([3, 2]);
    expect(await again.read('u-1_2')).toEqual(result(2, 10));
    await again.put(result(4, 10));
    expect([again.dropped, again.entries().map(({ key, marker }) => [key, marker])]).toEqual([0, [['u-1_1', false], ['u-1_3', false], ['u-1_4', false]]]);
    await again.mark('u-1_1', 1);
    await again.mark('u-1_1', undefined);
    expect((await opened()).pending).toBe(3);
  });

  it('puts a marker in place of a result larger than itself, and bounds markers too', async () => {
    const spool = await opened(4_096);
    expect(await spool.put(result(1, 50))).toMatchObject({ marker: true });
    for (let round = 2; round <= 30; round += 1) await spool.put(result(round, 50));
    expect(spool.bytes).toBeLessThanOrEqual(4_096);
    expect(spool.has('u-1_30')).toBe(true);
    expect(spool.has('u-1_1')).toBe(false);
    expect((await readdir(folder)).length).toBe(spool.size);
  });

  it('sets aside what it cannot read, loudly, and takes away what was half written', async () => {
    const spool = await opened();
    await spool.put(partsOf(workOrder(), { targets: [targetResult('a'), targetResult('b')], outcome: result(1)[0]!.outcome! }, 10));
    const [file = ''] = await readdir(folder);
    const lines = (await readFile(join(folder, file), 'utf8')).split('\n');
    await writeFile(join(folder, file), `${lines.slice(0, 2).join('\n')}\n`);
    await writeFile(join(folder, 'x.jsonl.new'), 'half');
    const again = await opened();
    expect(again.size).toBe(0);
    expect(again.unreadable).toBe(1);
    expect(errors[0]).toContain('cannot be read');
    expect(await readdir(folder)).toEqual([`${file}.unreadable`]);
  });

  it('cuts a large result into parts that fit, with the outcome in the last', () => {
    const outcome = result(1)[0]!.outcome!;
    const targets = Array.from({ length: 100 }, (_, i) => targetResult(`node-${i}`));
    const limit = 20_000;
    const parts = partsOf(workOrder(), { targets, outcome }, limit);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.flatMap((part) => part.targets)).toEqual(targets);
    expect(parts.map(({ part, parts: of }) => [part, of])).toEqual(parts.map((_, i) => [i + 1, parts.length]));
    for (const part of parts) expect(Buffer.byteLength(JSON.stringify(part.targets))).toBeLessThanOrEqual(limit + 200);
    expect(parts.map((part) => part.outcome !== undefined)).toEqual(parts.map((_, i) => i === parts.length - 1));
    expect(partsOf(workOrder(), { targets: [], outcome })).toHaveLength(1);
  });

  it('remembers the newest rounds that are done, in a file that does not grow for ever', async () => {
    const file = join(folder, 'done');
    const list = new DoneList(file, 10);
    await list.open();
    for (let i = 0; i < 100; i += 1) await list.add([`u_${i}`]);
    await list.add(['u_99']);
    await writeFile(file, `${await readFile(file, 'utf8')}u_cut-of`);
    const again = new DoneList(file, 10);
    await again.open();
    expect([again.has('u_99'), again.has('u_90'), again.has('u_89'), again.has('u_cut-of')]).toEqual([true, true, false, false]);
    expect((await readFile(file, 'utf8')).length).toBeLessThan(25 * 6);
  });

  it('knows what was begun and not ended', async () => {
    const journal = new Journal(join(folder, 'begun'), log);
    expect(await journal.open()).toEqual([]);
    const order = workOrder();
    await journal.begin(order, 2);
    expect(await journal.open()).toEqual([{ order, attempts: 2 }]);
    // A crash between the write and the rename of the next attempt, and of another round's first.
    for (const name of [`${order.taskUid}_${order.round}.new`, 'other_1.new']) await writeFile(join(folder, 'begun', name), JSON.stringify({ order, attempts: 3 }));
    expect(await journal.open()).toEqual([{ order, attempts: 2 }]);
    expect(await readdir(join(folder, 'begun'))).toHaveLength(1);
    await journal.end(`${order.taskUid}_${order.round}`);
    expect(await journal.open()).toEqual([]);
  });
});
