import { describe, expect, it, jest } from '@jest/globals';
import type { Bus } from '@roundsman/bus';
import { NodeStats } from './node-stats.ts';

/** Answers for the nodes that are there; counts who is asked. */
function agents(there: ReadonlySet<string>): { bus: Bus; asked: string[] } {
  const asked: string[] = [];
  const request = async (_message: unknown, { node }: { node: string }): Promise<unknown> => {
    asked.push(node);
    if (!there.has(node)) throw new Error('no responders');
    return { at: `${asked.length}`, windowSeconds: 1, node: { cpuNanoCores: 0, memoryBytes: 0 }, pods: [] };
  };
  return { bus: { request } as unknown as Bus, asked };
}

describe('asking the agents', () => {
  it('asks each node once, and leaves out those that say nothing', async () => {
    const { bus, asked } = agents(new Set(['a', 'b']));
    expect([...(await new NodeStats(bus).of(['a', 'b', 'a', 'gone'])).keys()]).toEqual(['a', 'b']);
    expect(asked).toEqual(['a', 'b', 'gone']);
  });
  it('asks anew each time, unless an answer may serve for a while', async () => {
    const { bus, asked } = agents(new Set(['a']));
    const always = new NodeStats(bus);
    await always.of(['a']);
    await always.of(['a']);
    expect(asked).toEqual(['a', 'a']);
    const sometimes = new NodeStats(bus, { freshMs: 60_000 });
    expect((await sometimes.of(['a'])).get('a')).toBe((await sometimes.of(['a'])).get('a'));
    expect(asked).toHaveLength(3);
  });
  it('does not wait again for a node that has just been silent', async () => {
    const there = new Set<string>();
    const { bus, asked } = agents(there);
    const stats = new NodeStats(bus, { freshMs: 60_000 });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    expect((await stats.of(['a'])).size).toBe(0);
    there.add('a');
    expect((await stats.of(['a'])).size).toBe(0);
    expect(asked).toHaveLength(1);
    clock.mockReturnValue(60_000);
    expect((await stats.of(['a'])).size).toBe(1);
    clock.mockRestore();
  });
});
