import { describe, expect, it } from '@jest/globals';
import type { LatencySummary } from '@roundsman/api';
import { axisFor, box, ruler } from './plot.ts';

function summary(minUs: number, p50Us: number, p90Us: number, p99Us: number, maxUs: number): LatencySummary {
  const us = { minUs, meanUs: p50Us, p50Us, p90Us, p95Us: p90Us, p99Us, maxUs };
  return { count: 1, minMs: 0, meanMs: 0, p50Ms: 0, p90Ms: 0, p95Ms: 0, p99Ms: 0, maxMs: 0, ...us };
}

describe('latency plot', () => {
  it('spans whole decades and puts each figure where it belongs on a log scale', () => {
    const latency = summary(100, 1_000, 10_000, 10_000, 100_000);
    const axis = axisFor([latency], 31);
    expect(axis).toMatchObject({ fromUs: 100, toUs: 100_000 });
    expect(box(latency, axis)).toBe('├─────────█▒▒▒▒▒▒▒▒▒▒─────────┤');
    expect(ruler(axis)).toBe('100us     1ms       10ms  100ms');
  });

  it('holds equal, zero and one-second figures', () => {
    const axis = axisFor([summary(0, 0, 0, 0, 0), summary(1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000)], 25);
    expect(box(summary(0, 0, 0, 0, 0), axis)).toBe(`█${' '.repeat(24)}`);
    expect(ruler(axis).trimEnd().endsWith('1s')).toBe(true);
  });
});
