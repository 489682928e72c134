import { afterEach, expect, it, jest } from '@jest/globals';
import { messages, type Bus } from '@roundsman/bus';
import type { z } from 'zod';
import { Beats } from './beats.ts';

type Beat = z.infer<typeof messages.runnerBeat.schema>;
const round = { taskUid: 'u', round: 3 };
const startMs = Date.parse('2026-01-01T12:00:00Z');
const at = (seconds: number): void => void jest.spyOn(Date, 'now').mockReturnValue(startMs + seconds * 1_000);
afterEach(() => void jest.restoreAllMocks());

/** Beats, and what says one at a time in seconds after the start. */
async function listening(): Promise<{ beats: Beats; say: (seconds: number, runner: string, beat?: Partial<Beat>) => void }> {
  let hear: (message: { payload: Beat }) => void = () => undefined;
  const bus = { subscribe: (_message: unknown, _params: unknown, handler: typeof hear) => ((hear = handler), Promise.resolve({ stop: () => Promise.resolve() })) } as unknown as Bus;
  const beats = new Beats();
  await beats.start(bus);
  return {
    beats,
    say: (seconds, runner, beat = {}) => {
      at(seconds);
      hear({ payload: { runner, node: 'n', runtime: 'default', instance: 'i', sentAt: '', version: '', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1, ...beat } });
    },
  };
}

it('knows who is at work on a round, or was a moment ago', async () => {
  const { beats, say } = await listening();
  say(0, 'a', { running: [round] });
  say(2, 'b', { running: [{ ...round, round: 2 }] });
  say(2, 'c');
  expect(beats.atWork(round, ['a', 'b', 'c'])).toBe(true);
  expect(beats.atWork(round, ['b', 'c'])).toBe(false);
  expect(beats.atWork(round, [])).toBe(false);
  // It has spooled its result, and is about to send it.
  say(4, 'a');
  expect(beats.atWork(round, ['a'])).toBe(true);
  at(5);
  expect(beats.atWork(round, ['a'])).toBe(false);
});

it('tells of a runner that was restarted again and again since when it may have failed: since the first time', async () => {
  const { beats, say } = await listening();
  const tell = (since: number): [string, string, string][] => [...beats.restartedSince(startMs + since * 1_000)].map(([runner, { at: gone, words }]) => [runner, gone.toISOString(), words]);
  say(0, 'a');
  say(0, 'b');
  say(1, 'a', { instance: 'ii' });
  say(2, 'b');
  expect(tell(0)).toEqual([['a', '2026-01-01T12:00:00.000Z', 'its process ended, and the next one was first heard at 2026-01-01T12:00:01.000Z']]);
  say(7, 'a', { instance: 'ii' });
  for (let i = 0; i < 30; i++) say(20 + i, 'a', { instance: `crash-${i}` });
  expect(tell(2)).toEqual([['a', '2026-01-01T12:00:07.000Z', 'its process ended 30 times, and the last one was first heard at 2026-01-01T12:00:49.000Z']]);
  expect(tell(49)).toEqual([['a', '2026-01-01T12:00:48.000Z', 'its process ended, and the next one was first heard at 2026-01-01T12:00:49.000Z']]);
  expect(tell(50)).toEqual([]);
});
