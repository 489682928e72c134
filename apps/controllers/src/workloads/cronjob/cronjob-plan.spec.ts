import { describe, expect, it } from '@jest/globals';
import { cronSchedule, type CronJob, type CronJobSpec, type CronJobStatus, type Job } from '@roundsman/api';
import * as fc from 'fast-check';
import { planCronJob, startName } from './cronjob-plan.ts';

const minute = 60_000;
const begin = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000', '');

const cronJobOf = (spec: Partial<CronJobSpec> = {}, status: CronJobStatus = {}): CronJob =>
  ({
    metadata: { name: 'report', namespace: 'default', uid: 'cron-uid', creationTimestamp: iso(begin) },
    spec: { schedule: '*/10 * * * *', concurrencyPolicy: 'Allow', suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1, ...spec },
    status,
  }) as unknown as CronJob;
const jobOf = (name: string, end?: 'Complete' | 'Failed', endMs = begin): Job =>
  ({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '7', creationTimestamp: iso(endMs) },
    spec: {},
    status: end === undefined ? {} : { startTime: iso(endMs), conditions: [{ type: end, status: 'True' }], ...(end === 'Complete' ? { completionTime: iso(endMs) } : {}) },
  }) as unknown as Job;
const plan = (cronJob: CronJob, jobs: Job[], nowMs: number) => planCronJob(cronJob, jobs, cronSchedule(cronJob.spec.schedule, 'UTC'), nowMs);
const active = (...jobs: Job[]): CronJobStatus => ({ active: jobs.map(({ metadata: { name, uid } }) => ({ name, uid })), lastScheduleTime: iso(begin) });
const reasons = ({ news }: { news: readonly { reason: string }[] }): string[] => news.map(({ reason }) => reason);

describe('a cron job', () => {
  it('starts a job at its time, under the name of that time, and looks again at the next one', () => {
    expect(plan(cronJobOf(), [], begin + 9 * minute)).toEqual({ remove: [], status: {}, news: [], againAfterMs: minute + 100 });
    expect(plan(cronJobOf(), [], begin + 10 * minute)).toEqual({
      start: { name: `report-${begin / minute + 10}`, atMs: begin + 10 * minute }, remove: [], news: [], status: { lastScheduleTime: iso(begin + 10 * minute) }, againAfterMs: 10 * minute + 100,
    });
    expect(plan(cronJobOf({}, { lastScheduleTime: iso(begin + 10 * minute) }), [], begin + 11 * minute).start).toBeUndefined();
  });

  it('of every five minutes starts five minutes after the one before, whenever it was looked at meanwhile', () => {
    const every = (status: CronJobStatus = {}): CronJob => cronJobOf({ schedule: '@every 5m' }, status);
    expect(plan(every(), [], begin + minute)).toEqual({ remove: [], status: {}, news: [], againAfterMs: 4 * minute + 100 });
    expect(plan(every(), [], begin + 5 * minute + 100)).toMatchObject({ start: { atMs: begin + 5 * minute }, againAfterMs: 5 * minute });
    expect(plan(every({ lastScheduleTime: iso(begin + 5 * minute) }), [], begin + 7 * minute)).toMatchObject({ againAfterMs: 3 * minute + 100 });
    expect(plan(every(), [], begin + 12 * minute)).toMatchObject({ start: { atMs: begin + 10 * minute }, againAfterMs: 3 * minute + 100 });
    const within = (spec: Partial<CronJobSpec>) => plan(cronJobOf({ schedule: '@every 5m', ...spec }), [], begin + 6 * minute).start?.atMs;
    expect([within({ startingDeadlineSeconds: 90 }), within({ startingDeadlineSeconds: 30 })]).toEqual([begin + 5 * minute, undefined]);
  });

  it('makes up for the latest of the starts that it missed, and says when there were too many', () => {
    const few = plan(cronJobOf(), [], begin + 100 * minute + 1);
    expect([few.start?.atMs, reasons(few)]).toEqual([begin + 100 * minute, []]);
    const many = plan(cronJobOf(), [], begin + 1_019 * minute);
    expect([many.start?.atMs, reasons(many)]).toEqual([begin + 1_010 * minute, ['TooManyMissedTimes']]);
    expect(plan(cronJobOf({ startingDeadlineSeconds: 200 }), [], begin + 1_013 * minute).start?.atMs).toBe(begin + 1_010 * minute);
    expect(plan(cronJobOf({ startingDeadlineSeconds: 200 }), [], begin + 1_014 * minute).start).toBeUndefined();
  });

  it('starts nothing while it is suspended, is being deleted or cannot be read', () => {
    const due = begin + 10 * minute;
    expect(plan(cronJobOf({ suspend: true }), [], due)).toEqual({ remove: [], status: {}, news: [] });
    expect(planCronJob(cronJobOf(), [], undefined, due).start).toBeUndefined();
    const deleted = cronJobOf();
    expect(plan({ ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: iso(due) } }, [], due).start).toBeUndefined();
  });

  it('treats a job that still runs as its policy says', () => {
    const running = jobOf(startName(cronJobOf(), begin));
    const now = begin + 10 * minute;
    expect(plan(cronJobOf({}, active(running)), [running], now)).toMatchObject({ start: {}, remove: [], status: { active: [{ uid: running.metadata.uid }] } });
    const forbidden = plan(cronJobOf({ concurrencyPolicy: 'Forbid' }, active(running)), [running], now);
    expect([forbidden.start, reasons(forbidden), forbidden.status.lastScheduleTime]).toEqual([undefined, ['JobAlreadyActive'], iso(begin)]);
    const replaced = plan(cronJobOf({ concurrencyPolicy: 'Replace' }, active(running)), [running], now);
    expect([replaced.start?.atMs, replaced.remove, replaced.status.active]).toEqual([now, [running], undefined]);
  });

  it('notes how its jobs ended, and keeps as many of them as it is told to', () => {
    const done = [1, 2, 3, 4].map((n) => jobOf(`report-${n}`, 'Complete', begin + n * minute));
    const failed = [5, 6].map((n) => jobOf(`report-${n}`, 'Failed', begin + n * minute));
    const manual = jobOf('by-hand');
    const gone = jobOf('report-0');
    const { status, news, remove } = plan(cronJobOf({}, active(done[3]!, gone)), [...done, ...failed, manual], begin + minute);
    expect(status).toEqual({ lastScheduleTime: iso(begin), lastSuccessfulTime: iso(begin + 4 * minute) });
    expect(news.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      'SawCompletedJob: Saw completed job: report-4, condition: Complete',
      'MissingJob: Active job went missing: report-0',
      'UnexpectedJob: Saw a job that the controller did not create or forgot: by-hand',
    ]);
    expect(remove.map(({ metadata }) => metadata.name)).toEqual(['report-1', 'report-5']);
  });

  it('starts every time at most once and never two at a time under Forbid, wherever its controller dies', () => {
    const happening = fc.oneof(fc.record({ what: fc.constant('time' as const), minutes: fc.nat(35) }), fc.record({ what: fc.constant('end' as const) }), fc.record({ what: fc.constantFrom('look' as const, 'die before status' as const) }));
    fc.assert(
      fc.property(fc.constantFrom('Allow' as const, 'Forbid' as const, 'Replace' as const), fc.array(happening, { maxLength: 40 }), (concurrencyPolicy, happenings) => {
        let status: CronJobStatus = {};
        let nowMs = begin;
        const jobs = new Map<string, Job>();
        const ever: string[] = [];
        for (const one of happenings) {
          if (one.what === 'time') nowMs += one.minutes * minute;
          else if (one.what === 'end') for (const [name] of jobs) jobs.set(name, jobOf(name, 'Complete', nowMs));
          else {
            const next = plan(cronJobOf({ concurrencyPolicy }, status), [...jobs.values()], nowMs);
            for (const { metadata } of next.remove) jobs.delete(metadata.name);
            if (next.start !== undefined) {
              ever.push(next.start.name);
              jobs.set(next.start.name, jobOf(next.start.name));
            }
            if (one.what === 'look') {
              const made = next.start && jobs.get(next.start.name);
              status = made === undefined ? next.status : { ...next.status, active: [...(next.status.active ?? []), { name: made.metadata.name, uid: made.metadata.uid }] };
            }
          }
          const running = [...jobs.values()].filter((job) => job.status?.conditions === undefined);
          if (concurrencyPolicy !== 'Allow') expect(running.length).toBeLessThanOrEqual(1);
        }
        expect(new Set(ever).size).toBe(ever.length);
      }),
      { numRuns: 300 },
    );
  });
});
