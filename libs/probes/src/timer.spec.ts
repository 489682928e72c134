import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { after } from './timer.ts';

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
