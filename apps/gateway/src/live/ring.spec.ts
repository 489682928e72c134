import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, integer, property } from 'fast-check';
import { LiveRing } from './ring.ts';

describe('LiveRing', () => {
  it('gives what came after an id, of one task or of all, in order', () => {
    const ring = new LiveRing('e');
    const ids = ['x', 'y', 'x', 'y'].map((task, i) => ring.add(task, 'sample', String(i)).id);
    expect(ids).toEqual(['e-1', 'e-2', 'e-3', 'e-4']);
    expect(ring.after('e-2', undefined).map(({ data }) => data)).toEqual(['2', '3']);
    expect(ring.after('e-1', 'x').map(({ data }) => data)).toEqual(['2']);
    expect(ring.after('e-0', 'y').map(({ data }) => data)).toEqual(['1', '3']);
    expect(ring.after('e-4', undefined)).toEqual([]);
  });

  it('an id of another start, or nonsense, gets all that is kept', () => {
    const ring = new LiveRing('new');
    ring.add('x', 'sample', '0');
    for (const id of ['old-99', '', 'nonsense', 'new-x', 'new--1']) expect(ring.after(id, 'x')).toHaveLength(1);
  });

  it('holds only so much, and the newest of it', () => {
    const limits = { perTask: 3, tasks: 2 };
    assert(
      property(array(constantFrom('a', 'b', 'c'), { maxLength: 40 }), integer({ min: 0, max: 45 }), (tasks, from) => {
        const ring = new LiveRing('e', limits);
        tasks.forEach((task, i) => ring.add(task, 'report', String(i + 1)));
        const live = [...new Set(tasks.toReversed())].slice(0, limits.tasks);
        const newest = live.flatMap((task) => tasks.map((one, i) => ({ one, n: i + 1 })).filter(({ one }) => one === task).slice(-limits.perTask));
        const kept = ring.after(`e-${from}`, undefined).map(({ data }) => Number(data));
        expect(kept.length).toBeLessThanOrEqual(limits.perTask * limits.tasks);
        // A task that was dropped and came again starts over, so at most the newest of each are there.
        expect(newest.map(({ n }) => n).filter((n) => n > from)).toEqual(expect.arrayContaining(kept));
        if (tasks.length > from) expect(kept.at(-1)).toBe(tasks.length);
      }),
    );
  });
});
