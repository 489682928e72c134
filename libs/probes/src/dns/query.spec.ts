import { describe, expect, it } from '@jest/globals';
import { maxUnderway, QueryIds, type Query } from './query.ts';

function query(): Query {
  const framed = Buffer.alloc(14);
  return { intended: 0, sentAt: 0, id: 0, framed, message: framed.subarray(2), retried: false, carrier: undefined, onSent: () => undefined, deadline: 0, previous: undefined, next: undefined };
}

describe('QueryIds', () => {
  it('gives every query under way its own id, written into its message', () => {
    const ids = new QueryIds();
    const all = Array.from({ length: maxUnderway }, () => query());
    for (const one of all) ids.take(one, 0);
    expect(new Set(all.map((q) => q.id)).size).toBe(maxUnderway);
    for (const one of all) {
      expect(one.message.readUInt16BE(0)).toBe(one.id);
      expect(ids.find(one.id)).toBe(one);
    }
    ids.release(all[5]!, true, 0);
    expect(ids.find(all[5]!.id)).toBeUndefined();
  });

  it('does not use the id of an unanswered query again for a while', () => {
    const ids = new QueryIds();
    const lost = query();
    ids.take(lost, 0);
    ids.release(lost, false, 0);
    const seen = new Set<number>();
    const one = query();
    for (let i = 0; i < 70_000; i++) {
      ids.take(one, 4999);
      seen.add(one.id);
      ids.release(one, true, 4999);
    }
    expect(seen.size).toBe(65_535);
    expect(seen.has(lost.id)).toBe(false);
    for (let i = 0; i < 70_000; i++) {
      ids.take(one, 5001);
      seen.add(one.id);
      ids.release(one, true, 5001);
    }
    expect(seen.has(lost.id)).toBe(true);
  });

  it('says when so many wait out their time that none can be given, and recovers', () => {
    const ids = new QueryIds();
    // Ahead of the clock by which `room` looks: however long this takes, none comes back meanwhile.
    const now = performance.now() + 3_600_000;
    let given = 0;
    while (ids.room && given < 70_000) {
      const one = query();
      ids.take(one, now);
      ids.release(one, false, now);
      given += 1;
    }
    expect(given).toBe(65_536 - 2 * maxUnderway);
    const one = query();
    ids.take(one, now + 5_001);
    expect(ids.find(one.id)).toBe(one);
    expect(ids.room).toBe(true);
  });
});
