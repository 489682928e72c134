import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence } from './silence.ts';

describe('silence', () => {
  let hears = true;
  let silence: Silence;
  beforeEach(() => {
    jest.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    hears = true;
    silence = new Silence(() => hears);
    silence.start();
  });
  afterEach(() => {
    silence.stop();
    jest.useRealTimers();
  });

  it('counts from the last sign of life, or from when somebody began to listen', () => {
    jest.advanceTimersByTime(4_000);
    silence.heard('a');
    jest.advanceTimersByTime(5_000);
    expect([silence.of('a'), silence.of('b')]).toEqual([5_000, 9_000]);
  });

  it('does not count while nothing can be heard', () => {
    silence.heard('a');
    hears = false;
    jest.advanceTimersByTime(60_000);
    hears = true;
    jest.advanceTimersByTime(2_000);
    expect(silence.of('a')).toBe(2_000);
  });

  it('does not count while the process itself was held up', () => {
    silence.heard('a');
    // A suspended machine: the clock goes on, no timer fires.
    jest.setSystemTime(Date.now() + 3_600_000);
    expect(silence.of('a')).toBe(0);
    jest.advanceTimersByTime(2_000);
    expect(silence.of('a')).toBe(2_000);
  });
});
