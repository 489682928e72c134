import { describe, expect, it } from '@jest/globals';
import { nextBackOff, restartAt, retryDelay } from './back-off.ts';

describe('the wait before a container is started again', () => {
  it('is none, 10 s, then doubles to 5 minutes', () => {
    const waits: number[] = [];
    let backOffMs = nextBackOff(undefined);
    for (let run = 0; run < 8; run += 1) {
      const ended = { backOffMs, createdAt: 0, finishedAt: 1_000 };
      waits.push((restartAt(ended) - ended.finishedAt) / 1000);
      backOffMs = nextBackOff(ended);
    }
    expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
  });

  it('starts over after a run of more than ten minutes', () => {
    const long = { backOffMs: 300_000, createdAt: 0, finishedAt: 600_001 };
    expect([restartAt(long), nextBackOff(long)]).toEqual([600_001, 10_000]);
    expect(restartAt({ ...long, finishedAt: 600_000 })).toBe(900_000);
  });

  it('of pulls grows the same way', () => {
    expect([1, 2, 3, 6, 60].map(retryDelay)).toEqual([10_000, 20_000, 40_000, 300_000, 300_000]);
  });
});
