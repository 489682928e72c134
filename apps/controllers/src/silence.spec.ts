import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence } from './silence.ts';

describe('silence', () => {
  let hears = true;
  /** Milliseconds in which the process stood still. */
  let held = 0;
  let silence: Silence;
  beforeEach(() => {
    jest.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    hears = true;
    held = 0;
    const fake = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => fake() + held);
    silence = new Silence(() => hears);
    silence.start();
  });
  afterEach(() => {
    silence.stop();
    jest.restoreAllMocks();
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
    // A stopped process: time goes on, no timer fires.
    held = 60_000;
    expect(silence.of('a')).toBe(0);
    jest.advanceTimersByTime(2_000);
    expect(silence.of('a')).toBe(2_000);
  });

  it.each([-3_600_000, 3_600_000])('counts on as before when the clock of the machine is put %i ms on', (jump) => {
    silence.heard('a');
    jest.setSystemTime(Date.now() + jump);
    jest.advanceTimersByTime(12_000);
    expect(silence.of('a')).toBe(12_000);
  });
});
