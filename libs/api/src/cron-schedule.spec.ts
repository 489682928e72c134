import { describe, expect, it } from '@jest/globals';
import { cronSchedule } from './cron-schedule.ts';

const at = (iso: string): number => Date.parse(iso);
const next = (schedule: string, after: string, zone = 'UTC'): string => new Date(cronSchedule(schedule, zone).next(at(after)) ?? NaN).toISOString();

describe('the schedule of a CronJob', () => {
  it('is five fields, a macro or an interval', () => {
    expect(next('*/5 * * * *', '2026-01-01T00:00:00Z')).toBe('2026-01-01T00:05:00.000Z');
    expect(next('30 9 * * 1-5', '2026-01-02T10:00:00Z')).toBe('2026-01-05T09:30:00.000Z');
    expect(next('0 0 13 * 5', '2026-01-01T12:00:00Z')).toBe('2026-01-02T00:00:00.000Z');
    expect(next('0 12 ? * MON', '2026-01-01T12:00:00Z')).toBe('2026-01-05T12:00:00.000Z');
    expect(next('5/15 * * * *', '2026-01-01T00:05:00Z')).toBe('2026-01-01T00:20:00.000Z');
    expect(next('@daily', '2026-01-01T12:00:00Z')).toBe('2026-01-02T00:00:00.000Z');
    expect(next('@every 1h30m', '2026-01-01T12:00:00.500Z')).toBe('2026-01-01T13:30:00.000Z');
    expect(next('@every 1.5h', '2026-01-01T12:00:00Z')).toBe('2026-01-01T13:30:00.000Z');
    expect(next('@every 2s900ms', '2026-01-01T12:00:00Z')).toBe('2026-01-01T12:00:02.000Z');
    expect(next('@every 5ms', '2026-01-01T12:00:00Z')).toBe('2026-01-01T12:00:01.000Z');
    expect(cronSchedule('0 0 30 2 *').next(at('2026-01-01T00:00:00Z'))).toBeUndefined();
  });

  it('is meant in its time zone, through summer and winter', () => {
    expect(next('0 9 * * *', '2026-01-01T12:00:00Z', 'Europe/Berlin')).toBe('2026-01-02T08:00:00.000Z');
    expect(next('0 9 * * *', '2026-07-01T12:00:00Z', 'Europe/Berlin')).toBe('2026-07-02T07:00:00.000Z');
  });

  it('knows the last start before a moment, which may be that moment', () => {
    const latest = (schedule: string, after: string, until: string): string | undefined => {
      const ms = cronSchedule(schedule, 'UTC').latest(at(after), at(until));
      return ms === undefined ? undefined : new Date(ms).toISOString();
    };
    expect(latest('*/5 * * * *', '2026-01-01T00:00:00Z', '2026-01-09T00:17:30Z')).toBe('2026-01-09T00:15:00.000Z');
    expect(latest('*/5 * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z')).toBe('2026-01-01T00:05:00.000Z');
    expect(latest('*/5 * * * *', '2026-01-01T00:05:00Z', '2026-01-01T00:09:59Z')).toBeUndefined();
    expect(latest('0 0 29 2 *', '2020-01-01T00:00:00Z', '2026-01-01T00:09:59Z')).toBe('2024-02-29T00:00:00.000Z');
    expect(latest('@every 7m', '2026-01-01T00:00:00Z', '2026-01-01T00:30:00Z')).toBe('2026-01-01T00:28:00.000Z');
    expect(latest('@every 7m', '2026-01-01T00:00:00Z', '2026-01-01T00:06:59Z')).toBeUndefined();
  });

  it('says what is wrong with it', () => {
    expect(() => cronSchedule('* * * *')).toThrow('expected exactly 5 fields, found 4: [* * * *]');
    expect(() => cronSchedule('61 * * * *')).toThrow(/Invalid value for minute: 61/);
    for (const every of ['soon', '-5s', '0', '']) expect(() => cronSchedule(`@every ${every}`)).toThrow();
    expect(() => cronSchedule('* * * * *', 'Mars/Olympus')).toThrow();
  });
});
