import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ManualClock } from './clock.ts';
import { WorkQueue } from './work-queue.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('work queue', () => {
  it('loses no key and never works on one key twice at once, whatever is added, however long looks take and whichever fail', async () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      waitMs: fc.integer({ min: 0, max: 40 }),
      tookMs: fc.integer({ min: 0, max: 50 }),
      fails: fc.boolean(),
      delayMs: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 3 }), async (steps, concurrency) => {
        const clock = new ManualClock();
        const wanted = new Map<string, number>();
        const seen = new Map<string, number>();
        const running = new Set<string>();
        const looks = steps.map(({ tookMs, fails }) => ({ tookMs, fails }));
        let atOnce = 0;
        let twice = false;
        const queue = new WorkQueue({
          clock,
          concurrency,
          random: () => 0.5,
          reconcile: async (key) => {
            // Thrown here it would only be one more failure.
            twice ||= running.has(key);
            running.add(key);
            atOnce = Math.max(atOnce, running.size);
            const state = wanted.get(key) ?? 0;
            const look = looks.shift() ?? { tookMs: 0, fails: false };
            if (look.tookMs > 0) await new Promise<void>((resolve) => clock.after(look.tookMs, resolve));
            running.delete(key);
            if (look.fails) throw new Error('failed');
            seen.set(key, state);
          },
        });
        queue.start();
        for (const { key, waitMs, delayMs } of steps) {
          wanted.set(key, (wanted.get(key) ?? 0) + 1);
          if (delayMs === undefined) queue.add(key);
          else queue.addAfter(key, delayMs);
          await clock.advance(waitMs);
        }
        await clock.advance(3_600_000);
        expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(wanted));
        expect(twice).toBe(false);
        expect(atOnce).toBeLessThanOrEqual(concurrency);
        expect(queue.failing).toBe(0);
        expect(clock.next()).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it('looks once at a key added many times while it waits', async () => {
    const looked: string[] = [];
    const queue = new WorkQueue({ clock: new ManualClock(), reconcile: async (key) => void looked.push(key) });
    for (let n = 0; n < 100; n++) queue.add(n % 2 === 0 ? 'even' : 'odd');
    queue.start();
    await settle();
    expect(looked).toEqual(['even', 'odd']);
  });

  it('backs off twice as long after each failure up to the limit, and forgets failures after a success', async () => {
    const clock = new ManualClock(0);
    const at: number[] = [];
    let fail = true;
    const queue = new WorkQueue({
      clock,
      random: () => 1,
      backOff: { baseMs: 100, maxMs: 500 },
      reconcile: async () => {
        at.push(clock.now());
        if (fail) throw new Error('failed');
      },
    });
    queue.start();
    queue.add('a');
    await settle();
    await clock.advance(1_700);
    expect(at).toEqual([0, 100, 300, 700, 1_200, 1_700]);
    fail = false;
    await clock.advance(500);
    fail = true;
    queue.add('a');
    await settle();
    await clock.advance(100);
    expect(at.slice(6)).toEqual([2_200, 2_200, 2_300]);
  });

  it('comes back when a reconcile asks for it, and earlier when woken', async () => {
    const clock = new ManualClock(0);
    const at: number[] = [];
    const queue = new WorkQueue({
      clock,
      reconcile: async () => {
        at.push(clock.now());
        return { againAfterMs: 1000 };
      },
    });
    queue.start();
    queue.add('a');
    await clock.advance(400);
    queue.add('a');
    await clock.advance(1_000);
    expect(at).toEqual([0, 400, 1_400]);
  });

  it('stops when what runs has ended, beginning nothing new', async () => {
    let finish: () => void = () => undefined;
    const looked: string[] = [];
    const queue = new WorkQueue({
      clock: new ManualClock(),
      reconcile: async (key) => {
        looked.push(key);
        await new Promise<void>((resolve) => (finish = resolve));
        looked.push(`${key} ended`);
      },
    });
    queue.start();
    queue.add('a');
    queue.add('b');
    await settle();
    const stopped = queue.stop();
    finish();
    await stopped;
    queue.add('c');
    await settle();
    expect(looked).toEqual(['a', 'a ended']);
  });
});
