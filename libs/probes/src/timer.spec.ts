import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeLoop } from './testing/fake-loop.ts';
import { after, afterTurning } from './timer.ts';

const day = 24 * 3_600_000;

describe('after', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('waits longer than one timer can', () => {
    const call = jest.fn();
    after(60 * day, call);
    jest.advanceTimersByTime(60 * day - 1000);
    expect(call).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1001);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it('can be called off in any of its parts', () => {
    const call = jest.fn();
    const off = after(60 * day, call);
    jest.advanceTimersByTime(30 * day);
    off();
    jest.advanceTimersByTime(60 * day);
    expect(call).not.toHaveBeenCalled();
  });
});

describe('afterTurning', () => {
  const calledAt = (stalls: { at: number; ms: number }[], ms: number): Promise<number> => {
    const loop = new FakeLoop(stalls);
    return loop.run(() => new Promise((resolve) => void afterTurning(ms, () => resolve(loop.now))));
  };

  it('waits as long as it is told, by a loop that turns', async () => {
    expect(Math.round(await calledAt([], 105))).toBe(105);
  });

  it('goes on waiting after a stall, and lets what has arrived be read first', async () => {
    expect(Math.round(await calledAt([{ at: 50, ms: 10_000 }], 100))).toBeGreaterThan(10_070);
    const loop = new FakeLoop([{ at: 95, ms: 1_000 }]);
    const read: number[] = [];
    await loop.run(() => new Promise<void>((resolve) => {
      loop.arrive(99, () => read.push(loop.now));
      afterTurning(100, resolve);
    }));
    expect(read).toHaveLength(1);
  });

  it('can be called off', async () => {
    const loop = new FakeLoop();
    const call = jest.fn();
    await loop.run(() => new Promise<void>((resolve) => {
      const off = afterTurning(50, call);
      setTimeout(off, 40);
      setTimeout(resolve, 500);
    }));
    expect(call).not.toHaveBeenCalled();
  });
});
