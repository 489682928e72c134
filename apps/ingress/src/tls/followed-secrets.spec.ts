import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Bus } from '@roundsman/bus';
import { pino } from 'pino';
import { FollowedSecrets } from './followed-secrets.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('asks once a second while nobody answers, however long that is, and keeps what it knows', async () => {
  let asked = 0;
  const told: number[] = [];
  const secret = { metadata: { uid: 'u', resourceVersion: '1' } };
  const bus = {
    subscribe: () => Promise.resolve({ stop: () => Promise.resolve() }),
    request: () => {
      asked += 1;
      return asked === 1 ? Promise.resolve({ secrets: [secret] }) : Promise.reject(new Error('nobody is there'));
    },
  } as unknown as Bus;
  const followed = new FollowedSecrets(bus, pino({ level: 'silent' }), (secrets) => void told.push(secrets.length));
  await followed.start();
  await jest.advanceTimersByTimeAsync(210_500);
  expect(asked).toBeGreaterThan(190);
  expect(asked).toBeLessThan(235);
  expect(told).toEqual([1]);
  await followed.stop();
});
