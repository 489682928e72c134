import { describe, expect, it, jest } from '@jest/globals';
import { Deadlines, type Timed } from './deadlines.ts';

interface Item extends Timed {
  name: string;
}

function item(name: string): Item {
  return { name, deadline: 0, previous: undefined, next: undefined };
}

describe('Deadlines', () => {
  it('expires what was not removed, in order, never early', async () => {
    const done = Promise.withResolvers<void>();
    const expired: string[] = [];
    const started = performance.now();
    const deadlines = new Deadlines<Item>(20, ({ name }, now) => {
      expired.push(name);
      expect(now - started).toBeGreaterThanOrEqual(20);
      if (name === 'd') done.resolve();
    });
    const items = ['a', 'b', 'c', 'd'].map(item);
    for (const one of items) deadlines.add(one, performance.now());
    deadlines.remove(items[1]!);
    deadlines.remove(items[1]!);
    await done.promise;
    expect(expired).toEqual(['a', 'c', 'd']);
  });

  it('waits for more than a timer can, without waking all the time', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const deadlines = new Deadlines<Item>(2 ** 32, () => undefined);
    deadlines.add(item('late'), performance.now());
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + 20;
    while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1]);
    timers.mockRestore();
    deadlines.stop();
  });

  it('serves items again and hands all over when drained', async () => {
    const done = Promise.withResolvers<string>();
    const deadlines = new Deadlines<Item>(10, ({ name }) => done.resolve(name));
    const [a, b] = [item('a'), item('b')];
    deadlines.add(a, performance.now());
    deadlines.add(b, performance.now());
    const drained: string[] = [];
    deadlines.drain(({ name }) => drained.push(name));
    expect(drained).toEqual(['a', 'b']);
    deadlines.add(b, performance.now());
    await expect(done.promise).resolves.toBe('b');
    deadlines.add(a, performance.now());
    deadlines.stop();
  });
});
