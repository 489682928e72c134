import { describe, expect, it } from '@jest/globals';
import { limitsFor } from './limits.ts';

const budget = (qps: number, timeoutMs: number) => ({ qps, timeoutMs, durationMs: 1000 });

describe('limitsFor', () => {
  it('gives a target all that its rate and timeout can need', () => {
    expect(limitsFor(budget(800, 1000), 1, 20_000)).toEqual({ connections: 1001, inFlight: 1001 });
    expect(limitsFor(budget(0.1, 100), 1, 20_000)).toEqual({ connections: 4, inFlight: 64 });
  });

  it('divides what the process may hold open among the targets', () => {
    expect(limitsFor(budget(10_000, 10_000), 1, 1e9)).toEqual({ connections: 8192, inFlight: 65_536 });
    expect(limitsFor(budget(10_000, 10_000), 8, 1e9)).toEqual({ connections: 1024, inFlight: 8192 });
    expect(limitsFor(budget(10_000, 10_000), 2, 1024).connections).toBe(256);
    expect(limitsFor(budget(10, 10_000), 100_000, 1024).connections).toBe(4);
  });

  it('asks the kernel how many files may be open', () => {
    expect(limitsFor(budget(10_000, 10_000), 1).connections).toBeGreaterThanOrEqual(256);
  });
});
