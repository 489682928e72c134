import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Announced } from './announced.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('asks once a second while nobody answers, however long that is, and tells it once', async () => {
  let asked = 0;
  let told = 0;
  const announced = new Announced<{ version: number }, { version: number }>(
    {
      what: 'a thing',
      subscribe: () => Promise.resolve({ stop: () => Promise.resolve() } as never),
      previousOf: () => 0,
      ask: () => {
        asked += 1;
        return asked > 300 && asked < 305 ? Promise.resolve({ version: 1 }) : Promise.reject(new Error('nobody is there'));
      },
      holds: () => true,
      all: () => undefined,
      changed: () => undefined,
    },
    { warn: () => void (told += 1) },
  );
  await announced.start();
  await jest.advanceTimersByTimeAsync(200_500);
  expect(asked).toBeGreaterThan(190);
  expect(asked).toBeLessThan(225);
  expect(told).toBe(1);
  // Once it answers it is asked rarely; when it falls silent again, that is told.
  await jest.advanceTimersByTimeAsync(200_000);
  expect(told).toBe(2);
  await announced.stop();
  const before = asked;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(asked).toBe(before);
});
