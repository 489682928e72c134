import { describe, expect, it } from '@jest/globals';
import { slowStart } from './slow-start.ts';

describe('a slow start', () => {
  it('doubles its batches', async () => {
    const batches: number[][] = [];
    let running: number[] = [];
    const answer = await slowStart(10, (index) => {
      if (running.length === 0) batches.push((running = []));
      running.push(index);
      return new Promise<void>((resolve) => setImmediate(() => ((running = []), resolve())));
    });
    expect(answer).toEqual({ succeeded: 10 });
    expect(batches).toEqual([[0], [1, 2], [3, 4, 5, 6], [7, 8, 9]]);
  });

  it('ends with the batch in which something fails', async () => {
    let calls = 0;
    const answer = await slowStart(100, async (index) => {
      calls += 1;
      if (index === 2) throw new Error('full');
    });
    expect(calls).toBe(3);
    expect(answer).toEqual({ succeeded: 2, error: new Error('full') });
  });
});
