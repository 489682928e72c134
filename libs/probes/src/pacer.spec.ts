import { describe, expect, it } from '@jest/globals';
import { Pacer } from './pacer.ts';

describe('Pacer', () => {
  it.each([[1, 300], [2.5, 80], [33.3, 6]])('calls every slot once, in order, never early (interval %d ms)', async (interval, count) => {
    const start = performance.now() + 5;
    const calls: { slot: number; late: number }[] = [];
    await new Pacer({ start, interval, count }, (slot) => calls.push({ slot, late: performance.now() - (start + slot * interval) })).run();
    expect(calls.map((c) => c.slot)).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(Math.min(...calls.map((c) => c.late))).toBeGreaterThanOrEqual(0);
  });

  it('makes up for a stall, exactly', async () => {
    const slots: number[] = [];
    const pacer = new Pacer({ start: performance.now(), interval: 0.1, count: 1000 }, (slot) => {
      slots.push(slot);
      if (slot === 10) {
        const until = performance.now() + 50;
        while (performance.now() < until);
      }
    });
    await pacer.run();
    expect(slots).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });

  it('lets the event loop read between bursts', async () => {
    let reads = 0;
    let sent = 0;
    const pacer = new Pacer({ start: performance.now() - 1000, interval: 1, count: 640 }, () => {
      sent += 1;
      if (sent === 1) setImmediate(function read() {
        reads += 1;
        if (sent < 640) setImmediate(read);
      });
    });
    await pacer.run();
    expect(reads).toBeGreaterThanOrEqual(8);
  });

  it('stops', async () => {
    let calls = 0;
    const pacer = new Pacer({ start: performance.now(), interval: 1, count: 1e9 }, () => {
      if (++calls === 5) pacer.stop();
    });
    await pacer.run();
    expect(calls).toBe(5);
  });
});
