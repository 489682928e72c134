import { expect, it } from '@jest/globals';
import { roundAnnotations, type Round, type ScheduleForm } from '@roundsman/api';
import { patienceMs } from './patience.ts';

const startMs = Date.parse('2026-01-01T12:00:00Z');
const iso = (seconds: number): string => new Date(startMs + seconds * 1_000).toISOString();

/** Seconds after its start a round has its deadline; `last`: when the last start by the schedule was. */
function patience(schedule: ScheduleForm | undefined, deadline: number, { trigger = 'schedule', last }: { trigger?: Round['spec']['trigger']; last?: number } = {}): number {
  const annotations = last === undefined ? {} : { [roundAnnotations.lastScheduledStart]: iso(last) };
  return patienceMs({ metadata: { annotations }, spec: { startTime: iso(0), deadline: iso(deadline), trigger, taskSpec: schedule === undefined ? {} : { schedule } } } as unknown as Round);
}

it.each<[string, number, number]>([
  ['the only one', patience({ startAfterSeconds: 3 }, 60), 5_000],
  ['one of a task without a schedule', patience(undefined, 60), 5_000],
  ['one of a schedule that cannot work', patience({ schedule: '0 0 30 2 *' }, 60), 5_000],
  ['one that is followed much later', patience({ intervalSeconds: 600 }, 60, { last: 0 }), 5_000],
  ['one that is followed soon', patience({ intervalSeconds: 63 }, 60, { last: 0 }), 2_000],
  ['one that lasts until the next, as it does where nothing is said', patience({ schedule: '0 1' }, 60, { last: 0 }), 0],
  ['one by cron that is followed soon', patience({ schedule: '*/5 * * * *' }, 297, { last: 0 }), 2_000],
  ['an extra one of a task that has had its rounds', patience({}, 60, { trigger: 'run-now', last: -1_000 }), 5_000],
  ['an extra one long before the next', patience({ intervalSeconds: 600 }, 60, { trigger: 'run-now', last: -100 }), 5_000],
  ['an extra one over the time of the next', patience({ intervalSeconds: 130 }, 60, { trigger: 'run-now', last: -100 }), 0],
  ['an extra one before the first', patience({ intervalSeconds: 600 }, 60, { trigger: 'run-now' }), 0],
])('waits for those who are late in %s no longer than the next round allows', (_what, ms, allowed) => {
  expect(ms).toBe(allowed);
});
