import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { bounds, firstStart, intervalMs, nextStart, roundMarginMs, roundTimeoutMs, ScheduleError, timingOf, type ScheduleForm } from './schedule.ts';

const at = (text: string): number => Date.parse(text);
const minute = 60_000;
const problem = (schedule: ScheduleForm): { field: string; message: string } => {
  try {
    timingOf(schedule);
  } catch (error) {
    if (error instanceof ScheduleError) return { field: error.field, message: error.message };
    throw error;
  }
  throw new Error('no ScheduleError');
};

const grids = fc.record({ startAfterSeconds: fc.integer({ min: 0, max: 100_000 }), intervalSeconds: fc.integer({ min: 1, max: 100_000 }) });
const fieldOf = (max: number, min = 0) => fc.oneof(fc.constant('*'), fc.integer({ min, max }).map(String), fc.integer({ min: 1, max: 30 }).map((step) => `*/${step}`));
const crons = fc.tuple(fieldOf(59), fieldOf(23), fieldOf(28, 1), fieldOf(12, 1), fieldOf(6)).map((fields) => ({ schedule: fields.join(' ') }));
const instants = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') });

describe('"M N"', () => {
  it('starts after M minutes and repeats every N', () => {
    const schedule = { schedule: '2 5' };
    const created = at('2026-01-01T00:00:30Z');
    expect(firstStart(schedule, created)).toBe(created + 2 * minute);
    expect(nextStart(schedule, created, created + 2 * minute)).toBe(created + 7 * minute);
  });
  it('takes any blanks', () => expect(intervalMs({ schedule: '  0 \t  10 ' })).toBe(10 * minute));
  it.each(['-1 5', '0 0', '0 1.5', 'a b', '0 99999999'])('refuses %s', (schedule) => expect(problem({ schedule }).field).toBe('schedule'));
});

describe('cron', () => {
  it('ticks after the instant, in UTC by default', () => {
    expect(firstStart({ schedule: '30 3 * * *' }, at('2026-05-01T03:30:00Z'))).toBe(at('2026-05-02T03:30:00Z'));
  });
  it('reads its fields in the time zone', () => {
    expect(firstStart({ schedule: '0 12 * * *', timeZone: 'Europe/Berlin' }, at('2026-07-01T00:00:00Z'))).toBe(at('2026-07-01T10:00:00Z'));
    expect(firstStart({ schedule: '0 12 * * *', timeZone: 'Europe/Berlin' }, at('2026-01-01T00:00:00Z'))).toBe(at('2026-01-01T11:00:00Z'));
  });
  it('takes the shortest gap as interval', () => {
    expect(intervalMs({ schedule: '*/7 * * * *' })).toBe(4 * minute);
    expect(intervalMs({ schedule: '0 3 * * 1' })).toBe(7 * 24 * 60 * minute);
    expect(intervalMs({ schedule: '* * * * *' })).toBe(minute);
  });
  it('finds a leap day', () => expect(firstStart({ schedule: '0 0 29 2 *' }, at('2026-01-01T00:00:00Z'))).toBe(at('2028-02-29T00:00:00Z')));
  it('refuses a date that never comes', () => expect(problem({ schedule: '0 0 30 2 *' }).message).toMatch(/never comes/));
  it.each(['60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', 'a * * * *', '*/0 * * * *', '5-1 * * * *'])('refuses %s', (schedule) => {
    expect(problem({ schedule }).message).toMatch(/not a cron expression/);
  });
  it.each(['', '* * * *', '* * * * * *', '@hourly', '5'])('refuses %j by its number of fields', (schedule) => expect(problem({ schedule }).message).toMatch(/five fields/));
});

describe('forms', () => {
  it('without any there is one round at once', () => {
    expect(firstStart({}, 1000)).toBe(1000);
    expect(nextStart({}, 1000, 1000)).toBeUndefined();
    expect(roundTimeoutMs({})).toBe(60 * minute);
  });
  it('refuses two', () => {
    expect(problem({ schedule: '0 1', intervalSeconds: 60 }).field).toBe('intervalSeconds');
    expect(problem({ schedule: '0 1', startAfterSeconds: 60 }).field).toBe('startAfterSeconds');
  });
  it('refuses a zone without cron, and one that does not exist', () => {
    expect(problem({ intervalSeconds: 5, timeZone: 'UTC' }).field).toBe('timeZone');
    expect(problem({ schedule: '0 5', timeZone: 'UTC' }).field).toBe('timeZone');
    expect(problem({ schedule: '0 5 * * *', timeZone: 'Mars/Olympus' }).message).toMatch(/IANA/);
  });
});

describe('what is out of bounds', () => {
  it.each([[{ startAfterSeconds: 9e15 }, 'startAfterSeconds'], [{ intervalSeconds: 9e12 }, 'intervalSeconds'], [{ intervalSeconds: 0 }, 'intervalSeconds'], [{ schedule: '0 527041' }, 'schedule']])(
    'is told, never computed with: %j',
    (schedule, field) => expect(problem(schedule)).toMatchObject({ field, message: expect.stringMatching(/from [01] to/) }),
  );
  it('no start and no deadline leaves what a Date can hold', () => {
    const schedule = fc.record({ startAfterSeconds: fc.integer({ min: 0, max: bounds.scheduleSeconds }), intervalSeconds: fc.integer({ min: 1, max: bounds.scheduleSeconds }), roundTimeoutSeconds: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) });
    fc.assert(
      fc.property(schedule, instants, fc.nat(1e13), (one, created, passed) => {
        for (const start of [firstStart(one, created), nextStart(one, created, created + passed)!]) for (const ms of [start, start + roundTimeoutMs(one)]) expect(Number.isNaN(new Date(ms).getTime())).toBe(false);
      }),
    );
  });
});

describe('the margin of a round', () => {
  it.each([[2000, 200], [9000, 900], [10_000, 1000], [3_600_000, 1000]])('of %d ms is %d ms', (round, margin) => expect(roundMarginMs(round)).toBe(margin));
});

describe('round timeout', () => {
  it.each([
    [{ schedule: '0 1' }, minute],
    [{ schedule: '0 600' }, 60 * minute],
    [{ schedule: '*/7 * * * *' }, 4 * minute],
    [{ intervalSeconds: 30 }, 30_000],
    [{ schedule: '0 10', roundTimeoutMinute: 3 }, 3 * minute],
    [{ intervalSeconds: 30, roundTimeoutSeconds: 7 }, 7000],
  ])('of %j is %d ms', (schedule, expected) => expect(roundTimeoutMs(schedule)).toBe(expected));
});

describe('properties', () => {
  it('a grid never drifts, whatever the round before it was', () => {
    fc.assert(
      fc.property(grids, instants, fc.integer({ min: 0, max: 10_000_000_000 }), (schedule, created, passed) => {
        const first = firstStart(schedule, created);
        const previous = first + passed;
        const next = nextStart(schedule, created, previous)!;
        const interval = schedule.intervalSeconds * 1000;
        expect(next).toBeGreaterThan(previous);
        expect(next - previous).toBeLessThanOrEqual(interval);
        expect((next - first) % interval).toBe(0);
      }),
    );
  });
  it('starts are strictly increasing, and no two cron ticks are closer than the interval', () => {
    fc.assert(
      fc.property(crons, instants, (schedule, created) => {
        let interval: number;
        try {
          interval = intervalMs(schedule)!;
        } catch {
          return; // A pattern that never comes.
        }
        let previous: number | undefined;
        for (let round = 0; round < 5; round++) {
          const next = nextStart(schedule, created, previous);
          if (next === undefined) return;
          expect(next % minute).toBe(0);
          if (previous === undefined) expect(next).toBeGreaterThan(created);
          else expect(next - previous).toBeGreaterThanOrEqual(interval);
          previous = next;
        }
      }),
      { numRuns: 60 },
    );
  });
  it('the default timeout never exceeds the interval', () => {
    fc.assert(fc.property(fc.oneof(grids, fc.integer({ min: 1, max: 500 }).map((n) => ({ schedule: `0 ${n}` }))), (schedule) => expect(roundTimeoutMs(schedule)).toBeLessThanOrEqual(intervalMs(schedule)!)));
  });
});
