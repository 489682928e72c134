import { describe, expect, it } from '@jest/globals';
import { LeaderGate, type Term } from './leader.ts';

/** A lock that one at a time may hold; `lose` takes it away from its holder. */
class Lock {
  holder: string | undefined;
  lose: (why: string) => void = () => undefined;
  #waiting: (() => void)[] = [];

  acquire(name: string): (signal: AbortSignal) => Promise<Term> {
    return async (signal) => {
      while (this.holder !== undefined) {
        signal.throwIfAborted();
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      signal.throwIfAborted();
      this.holder = name;
      const { promise: lost, resolve } = Promise.withResolvers<string>();
      this.lose = resolve;
      return { lost, release: async () => this.#free() };
    };
  }

  #free(): void {
    this.holder = undefined;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
const log = { info: () => undefined, warn: () => undefined };
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('leader gate', () => {
  it('lets one work at a time, and the standby take over when the lock is lost', async () => {
    const lock = new Lock();
    const working = new Set<string>();
    const told: string[] = [];
    const gates = ['a', 'b'].map(
      (name) =>
        new LeaderGate({
          acquire: lock.acquire(name),
          log,
          begin: async () => {
            expect(working.size).toBe(0);
            working.add(name);
            told.push(`${name} begins`);
            return {
              stop: async () => {
                working.delete(name);
                told.push(`${name} stops`);
              },
            };
          },
        }),
    );
    for (const gate of gates) gate.start();
    await settle();
    expect(told).toEqual(['a begins']);
    lock.lose('the database went away');
    await settle();
    expect(told).toEqual(['a begins', 'a stops', 'b begins']);
    expect(gates.map(({ leading }) => leading)).toEqual([false, true]);
    await Promise.all(gates.map((gate) => gate.stop()));
    expect(told.at(-1)).toMatch(/stops$/);
    expect(lock.holder).toBeUndefined();
    expect(working.size).toBe(0);
  });

  it('gives the lock back and tries again when the work cannot begin', async () => {
    const lock = new Lock();
    let tries = 0;
    const begun = Promise.withResolvers<void>();
    const gate = new LeaderGate({
      acquire: lock.acquire('a'),
      log,
      retryMs: 5,
      begin: async () => {
        tries += 1;
        if (tries < 3) throw new Error('not yet');
        begun.resolve();
        return { stop: async () => undefined };
      },
    });
    gate.start();
    await begun.promise;
    expect(tries).toBe(3);
    await gate.stop();
    expect(lock.holder).toBeUndefined();
  });

  it('ends what had begun when the rest cannot begin, last first, and one part that fails to end keeps no other', async () => {
    const lock = new Lock();
    const running = new Set<string>();
    const ended: string[] = [];
    const seen: string[][] = [];
    const gate = new LeaderGate({
      acquire: lock.acquire('a'),
      log,
      retryMs: 5,
      begin: async (onEnd) => {
        seen.push([...running]);
        for (const part of ['subscription', 'controller', 'sweep']) {
          onEnd(() => {
            running.delete(part);
            ended.push(part);
            if (part === 'controller') throw new Error('will not end');
          });
          running.add(part);
        }
        if (seen.length < 3) throw new Error('the connection broke');
      },
    });
    gate.start();
    while (!gate.leading) await settle();
    expect(seen).toEqual([[], [], []]);
    expect([...running]).toEqual(['subscription', 'controller', 'sweep']);
    expect(ended.slice(0, 3)).toEqual(['sweep', 'controller', 'subscription']);
    await gate.stop();
    expect(running.size).toBe(0);
    expect(lock.holder).toBeUndefined();
  });

  it('tells work that is still beginning that its term is over, so that it starts nothing', async () => {
    const lock = new Lock();
    const started: string[] = [];
    const begins: AbortSignal[] = [];
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    const gate = new LeaderGate({
      acquire: lock.acquire('a'),
      log,
      retryMs: 5,
      begin: async (_onEnd, over) => {
        begins.push(over);
        if (begins.length === 1) await ready;
        over.throwIfAborted();
        started.push(`term ${begins.length}`);
      },
    });
    gate.start();
    await settle();
    lock.lose('the database went away');
    await settle();
    resolve();
    while (!gate.leading) await settle();
    expect(started).toEqual(['term 2']);
    expect(begins.map(({ aborted }) => aborted)).toEqual([true, false]);
    await gate.stop();
    expect(begins[1]?.aborted).toBe(true);
  });
});
