import { describe, expect, it } from '@jest/globals';
import { StartSlots } from './start-slots.ts';

describe('starts at the same time', () => {
  it('are bounded; containers go before sandboxes, and what fails frees its place', async () => {
    const slots = new StartSlots();
    slots.allow(2);
    const order: string[] = [];
    const gates: (() => void)[] = [];
    const start = (kind: 'container' | 'sandbox', name: string, fails = false) =>
      slots.run(kind, async () => {
        order.push(name);
        await new Promise<void>((resolve) => gates.push(resolve));
        if (fails) throw new Error(name);
      });
    const all = Promise.allSettled([start('sandbox', 's1'), start('sandbox', 's2', true), start('sandbox', 's3'), start('container', 'c1')]);
    expect(order).toEqual(['s1', 's2']);
    while (order.length < 4) {
      gates.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const open of gates) open();
    await all;
    expect(order).toEqual(['s1', 's2', 'c1', 's3']);
  });
});
