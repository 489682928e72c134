import { describe, expect, it } from '@jest/globals';
import { firstStart, isOpenRound, ledgerOf, nextStart, roundAnnotations, roundTimeoutMs, taskAnnotations, type Ledger, type Round } from '@roundsman/api';
import * as fc from 'fast-check';
import type { Task } from './caches.ts';
import { defaultPlanSettings, planRound, planTask, type Plan, type PlannedRound } from './plan.ts';

const second = 1000;
const minute = 60 * second;
const created = Date.UTC(2026, 0, 1, 12, 0, 0);

const taskOf = (schedule: Task['spec']['schedule'], extra: { suspend?: boolean; generation?: number; annotations?: Record<string, string>; durationInSecond?: number } = {}): Task => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name: 't', namespace: 'default', uid: '11111111-2222', resourceVersion: '1', generation: extra.generation ?? 1, creationTimestamp: new Date(created).toISOString(), annotations: extra.annotations ?? {} },
  spec: { suspend: extra.suspend ?? false, schedule, request: { durationInSecond: extra.durationInSecond ?? 2, qps: 5, perRequestTimeoutInMS: 500 } },
});
const none: Ledger = { lastNumber: 0, scheduled: 0, lastScheduledMs: undefined, handledRunNow: '', generation: 1 };
const at = (nowMs: number, extra: Partial<Parameters<typeof planRound>[2]> = {}): Parameters<typeof planRound>[2] => ({ nowMs, openRound: false, fromMs: created, ready: true, ...extra });
const made = (plan: Plan): PlannedRound => {
  if (plan.do !== 'create') throw new Error(`expected a round, got ${JSON.stringify(plan)}`);
  return plan.round;
};

/** The Round object the scheduler would make, with the ledger in its annotations. */
const objectOf = (task: Task, planned: PlannedRound, state?: 'succeed' | 'ongoing' | 'missed'): Round => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'Round',
  metadata: {
    name: `r-${planned.number}`,
    namespace: 'default',
    uid: `r-${planned.number}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '',
    annotations: {
      [roundAnnotations.scheduled]: String(planned.ledger.scheduled),
      [roundAnnotations.runNow]: planned.ledger.handledRunNow,
      ...(planned.ledger.lastScheduledMs === undefined ? {} : { [roundAnnotations.lastScheduledStart]: new Date(planned.ledger.lastScheduledMs).toISOString() }),
    },
  },
  spec: {
    taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: 't', uid: task.metadata.uid, generation: task.metadata.generation },
    number: planned.number,
    startTime: new Date(planned.startMs).toISOString(),
    deadline: new Date(planned.deadlineMs).toISOString(),
    taskSpec: {},
    runners: [],
    trigger: planned.trigger,
  },
  ...(state === undefined ? {} : { status: { state } }),
});

describe('planning rounds', () => {
  it('waits for the correction of a schedule that cannot work', () => {
    for (const schedule of [{ startAfterSeconds: 9e15 }, { intervalSeconds: 9e12, roundNumber: -1 }, { schedule: 'nonsense' }]) {
      expect(planTask(taskOf(schedule), [], at(created))).toEqual({ do: 'wait', why: 'invalid-schedule' });
    }
  });

  it('starts "0 1" at creation and every following round on the grid, however late it was looked at', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: -1 });
    let ledger = none;
    for (const [index, nowMs] of [created + 700, created + minute + 40, created + 2 * minute + 900].entries()) {
      const round = made(planRound(task, ledger, at(nowMs)));
      expect(round).toMatchObject({ number: index + 1, trigger: 'schedule', startMs: created + index * minute, deadlineMs: created + (index + 1) * minute });
      ledger = round.ledger;
    }
    expect(planRound(task, ledger, at(created + 2 * minute + 1000))).toEqual({ do: 'wait', why: 'not-due', untilMs: created + 3 * minute - defaultPlanSettings.leadMs });
  });

  it('waits for the open round, then runs late, still on its point of the grid', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: 3 });
    const first = made(planRound(task, none, at(created)));
    expect(planRound(task, first.ledger, at(created + minute + 300, { openRound: true }))).toEqual({ do: 'wait', why: 'open-round' });
    expect(made(planRound(task, first.ledger, at(created + minute + 2_000)))).toMatchObject({ number: 2, trigger: 'schedule', startMs: created + minute });
  });

  it('records a round whose time has passed as missed, then runs the next', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: 3, roundTimeoutSeconds: 30 });
    const first = made(planRound(task, none, at(created)));
    const nowMs = created + 2 * minute + 10 * second;
    const second_ = made(planRound(task, first.ledger, at(nowMs)));
    expect(second_).toMatchObject({ number: 2, trigger: 'missed', startMs: created + minute, deadlineMs: created + minute + 30 * second });
    const third = made(planRound(task, second_.ledger, at(nowMs)));
    expect(third).toMatchObject({ number: 3, trigger: 'schedule', startMs: created + 2 * minute });
    expect(planRound(task, third.ledger, at(nowMs + minute))).toEqual({ do: 'wait', why: 'finished' });
  });

  it('misses a round that could no longer end in time, but gives a tight one a few seconds', () => {
    const roomy = taskOf({ schedule: '0 10', roundNumber: 1, roundTimeoutMinute: 5 }, { durationInSecond: 60 });
    expect(made(planRound(roomy, none, at(created + 4 * minute - 2 * second))).trigger).toBe('schedule');
    // The runner's margin of a second counts too.
    expect(made(planRound(roomy, none, at(created + 4 * minute - second))).trigger).toBe('missed');
    const tight = taskOf({ schedule: '0 1', roundNumber: 1 }, { durationInSecond: 60 });
    expect(made(planRound(tight, none, at(created + 4 * second))).trigger).toBe('schedule');
    expect(made(planRound(tight, none, at(created + 6 * second))).trigger).toBe('missed');
  });

  it('records the newest ten of a long outage and says how many it left out', () => {
    for (const schedule of ['0 1', '* * * * *']) {
      const task = taskOf({ schedule, roundNumber: -1, roundTimeoutSeconds: 30 });
      let ledger = made(planRound(task, none, at(created + minute))).ledger;
      const from = ledger.lastScheduledMs!;
      const nowMs = from + 100 * minute + 45 * second;
      const rounds: PlannedRound[] = [];
      for (let plan = planRound(task, ledger, at(nowMs)); plan.do === 'create'; plan = planRound(task, ledger, at(nowMs))) {
        rounds.push(plan.round);
        ledger = plan.round.ledger;
      }
      expect(rounds.map(({ trigger }) => trigger)).toEqual(Array(10).fill('missed'));
      expect(rounds.map(({ skipped }) => skipped)).toEqual([90, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
      expect(rounds.at(-1)?.startMs).toBe(from + 100 * minute);
    }
  });

  it('gets over a year of missed cron ticks at once', () => {
    const task = taskOf({ schedule: '*/5 * * * *', roundNumber: -1, timeZone: 'Europe/Berlin' });
    const nowMs = created + 365 * 24 * 60 * minute;
    const begun = process.cpuUsage();
    const round = made(planRound(task, none, at(nowMs)));
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1000).toBeLessThan(2000);
    expect(round.trigger).toBe('missed');
    expect(nowMs - round.startMs).toBeLessThanOrEqual(2 * 60 * minute);
    expect(Math.abs(round.skipped - 365 * 24 * 12)).toBeLessThan(400);
  });

  it('finds the newest missed ticks of an uneven cron, and is done after ten', () => {
    const task = taskOf({ schedule: '* 9-17 * * 1-5', roundNumber: -1, timeZone: 'Europe/Berlin', roundTimeoutSeconds: 30 });
    // A Sunday evening, half a year later.
    const nowMs = Date.UTC(2026, 6, 5, 20, 30);
    const starts: number[] = [];
    let ledger = none;
    for (let plan = planRound(task, ledger, at(nowMs)); plan.do === 'create'; plan = planRound(task, ledger, at(nowMs))) {
      expect(plan.round.trigger).toBe('missed');
      starts.push(plan.round.startMs);
      ledger = plan.round.ledger;
    }
    expect(starts).toEqual(Array.from({ length: 10 }, (_, index) => Date.UTC(2026, 6, 3, 15, 50 + index)));
  });

  it('runs an extra round at once, also when finished or suspended, without moving the grid or using up a round', () => {
    const asked = { annotations: { [taskAnnotations.runNow]: 'v1' } };
    const finished: Ledger = { ...none, lastNumber: 1, scheduled: 1, lastScheduledMs: created };
    const nowMs = created + 90 * second + 123;
    expect(made(planRound(taskOf({ schedule: '0 1', roundNumber: 1 }, asked), finished, at(nowMs)))).toMatchObject({ number: 2, trigger: 'run-now', startMs: nowMs });
    const endless = taskOf({ schedule: '0 1', roundNumber: -1 }, { ...asked, suspend: true });
    const extra = made(planRound(endless, finished, at(nowMs)));
    expect(extra.ledger).toEqual({ lastNumber: 2, scheduled: 1, lastScheduledMs: created, handledRunNow: 'v1', generation: 1 });
    expect(planRound(endless, extra.ledger, at(nowMs))).toEqual({ do: 'wait', why: 'suspended' });
    const resumed = taskOf({ schedule: '0 1', roundNumber: -1 }, asked);
    expect(made(planRound(resumed, extra.ledger, at(created + 2 * minute)))).toMatchObject({ number: 3, startMs: created + minute });
  });

  it('counts no start as missed that passed while the task was suspended or before it was edited', () => {
    const first = made(planRound(taskOf({ schedule: '0 1', roundNumber: -1 }), none, at(created)));
    const resumed = taskOf({ schedule: '0 1', roundNumber: -1 }, { generation: 3 });
    const changedMs = created + 30 * minute + 20 * second;
    expect(planRound(resumed, first.ledger, at(changedMs, { changedMs }))).toMatchObject({ do: 'wait', untilMs: created + 31 * minute - defaultPlanSettings.leadMs });
    // The scheduler was away when it was resumed: the point of the grid that can still be run is run.
    expect(made(planRound(resumed, first.ledger, at(changedMs)))).toMatchObject({ number: 2, trigger: 'schedule', startMs: created + 30 * minute });
  });

  it('runs a task without a schedule once, and when it was created suspended, once resumed', () => {
    expect(made(planRound(taskOf({ roundNumber: 1 }), none, at(created + 10)))).toMatchObject({ number: 1, startMs: created });
    expect(made(planRound(taskOf({ roundNumber: 1 }, { generation: 2 }), none, at(created + 900 * minute, { changedMs: created + 900 * minute })))).toMatchObject({ startMs: created + 900 * minute });
  });

  it('waits for a first runner, but not for ever', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: 1 });
    const patience = Math.min(defaultPlanSettings.noRunnerWaitMs, (minute - 3_500) / 2);
    expect(planRound(task, none, at(created, { ready: false }))).toEqual({ do: 'wait', why: 'no-runner', untilMs: created + patience });
    expect(made(planRound(task, none, at(created + patience, { ready: false })))).toMatchObject({ number: 1, trigger: 'schedule', startMs: created });
    const asked = taskOf({ schedule: '0 1', roundNumber: 1 }, { annotations: { [taskAnnotations.runNow]: 'v' } });
    expect(planRound(asked, none, at(created, { ready: false }))).toMatchObject({ do: 'wait', why: 'no-runner' });
    expect(made(planRound(asked, none, at(created + minute, { ready: false, runNowSinceMs: created }))).trigger).toBe('run-now');
  });

  it('begins once its runtime has settled, and counts its schedule from then: none was missed before', () => {
    const settledMs = created + 7 * minute + 20 * second;
    for (const schedule of [{ schedule: '0 1', roundNumber: 3 }, { schedule: '* * * * *', roundNumber: 3 }, { roundNumber: 1 }, { startAfterSeconds: 0, intervalSeconds: 30, roundNumber: 5 }]) {
      expect(planRound(taskOf(schedule), none, at(created + 5 * minute, { fromMs: undefined }))).toEqual({ do: 'wait', why: 'no-runtime' });
    }
    const from = (nowMs: number) => at(nowMs, { fromMs: settledMs });
    const grid = taskOf({ schedule: '0 1', roundNumber: 3 });
    const first = made(planRound(grid, none, from(settledMs + 80)));
    expect(first).toMatchObject({ number: 1, trigger: 'schedule', startMs: settledMs });
    expect(planRound(grid, first.ledger, from(settledMs + second))).toMatchObject({ why: 'not-due', untilMs: settledMs + minute - defaultPlanSettings.leadMs });
    expect(planRound(taskOf({ schedule: '2 5', roundNumber: 3 }), none, from(settledMs))).toMatchObject({ why: 'not-due', untilMs: settledMs + 2 * minute - defaultPlanSettings.leadMs });
    expect(made(planRound(taskOf({ roundNumber: 1 }), none, from(settledMs + 10)))).toMatchObject({ number: 1, startMs: settledMs });
    // A cron has ticks of its own: the next one after that.
    expect(planRound(taskOf({ schedule: '* * * * *', roundNumber: 3 }), none, from(settledMs))).toMatchObject({ why: 'not-due', untilMs: created + 8 * minute - defaultPlanSettings.leadMs });
    // While it had settled, a start that nobody kept is missed.
    expect(made(planRound(grid, first.ledger, from(settledMs + 3 * minute))).trigger).toBe('missed');
  });

  it('waits for a runtime that is made again, also when asked to run now; its grid then begins anew', () => {
    const asked = taskOf({ schedule: '0 1', roundNumber: 5 }, { annotations: { [taskAnnotations.runNow]: 'v' } });
    const ledger: Ledger = { ...none, lastNumber: 1, scheduled: 1, lastScheduledMs: created };
    const nowMs = created + 20 * minute;
    expect(planRound(asked, ledger, at(nowMs, { fromMs: undefined, runNowSinceMs: nowMs }))).toEqual({ do: 'wait', why: 'no-runtime' });
    const settledMs = nowMs + 40 * second;
    // Patience with runners counts from then.
    expect(planRound(asked, ledger, at(settledMs, { fromMs: settledMs, runNowSinceMs: nowMs, ready: false }))).toEqual({ do: 'wait', why: 'no-runner', untilMs: settledMs + defaultPlanSettings.noRunnerWaitMs });
    const extra = made(planRound(asked, ledger, at(settledMs + 5, { fromMs: settledMs, runNowSinceMs: nowMs })));
    expect(extra).toMatchObject({ number: 2, trigger: 'run-now' });
    expect(made(planRound(asked, extra.ledger, at(settledMs + 6, { fromMs: settledMs })))).toMatchObject({ number: 3, trigger: 'schedule', startMs: settledMs });
    expect(planRound(taskOf({ schedule: '0 1', roundNumber: 1 }), ledger, at(nowMs, { fromMs: undefined }))).toEqual({ do: 'wait', why: 'finished' });
  });

  it('does not wait again for a runtime that was waited for in vain, but for a runner that may come at any moment', () => {
    const task = taskOf({ roundNumber: 1 });
    const vain = { ready: false, waitedFor: true };
    expect(made(planRound(task, none, at(created, vain)))).toMatchObject({ number: 1, trigger: 'schedule', startMs: created });
    expect(planRound(task, none, at(created, { ...vain, comingUntilMs: created + 5 * second }))).toEqual({ do: 'wait', why: 'no-runner', untilMs: created + 5 * second });
  });

  it('waits a little for a runner whose pod is ready, within its patience', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: 1 });
    expect(planRound(task, none, at(created, { comingUntilMs: created + 5 * second }))).toEqual({ do: 'wait', why: 'no-runner', untilMs: created + 5 * second });
    expect(made(planRound(task, none, at(created + 5 * second, { comingUntilMs: created + 5 * second }))).trigger).toBe('schedule');
    const tight = taskOf({ schedule: '0 1', roundNumber: 1 }, { durationInSecond: 60 });
    expect(planRound(tight, none, at(created, { comingUntilMs: created + 5 * second }))).toMatchObject({ untilMs: created + 2.5 * second });
  });

  it('takes the numbers from the status when the newest rounds were deleted', () => {
    const task = taskOf({ schedule: '0 1', roundNumber: 4 });
    task.status = { doneRound: 3, expectedRound: 5, handledRunNow: 'v', observedGeneration: 1, history: [{ roundNumber: 3, status: 'succeed', startTimeStamp: new Date(created + 2 * minute).toISOString(), deadLineTimeStamp: '', succeedAgentNodeList: [], failedAgentNodeList: [], notReportAgentNodeList: [] }] };
    const ledger: Ledger = { lastNumber: 3, scheduled: 2, lastScheduledMs: created + 2 * minute, handledRunNow: 'v', generation: 1 };
    expect(ledgerOf(task, [])).toEqual(ledger);
    const older = objectOf(task, made(planRound(task, none, at(created))), 'succeed');
    expect(ledgerOf(task, [older])).toEqual(ledger);
  });
});

describe('random lives of a runtime', () => {
  const schedules = fc.oneof(
    fc.record({ intervalSeconds: fc.integer({ min: 5, max: 300 }), startAfterSeconds: fc.integer({ min: 0, max: 100 }), roundNumber: fc.constantFrom(-1, 3, 30) }),
    fc.record({ schedule: fc.constantFrom('* * * * *', '*/7 * * * *'), roundNumber: fc.constantFrom(-1, 5) }),
    fc.constant({ roundNumber: 1 }),
  );
  const steps = fc.array(fc.record({ seconds: fc.integer({ min: 1, max: 900 }), away: fc.boolean(), event: fc.constantFrom('none', 'settles', 'ends') }), { minLength: 1, maxLength: 20 });

  it('no round while it has not settled, none missed before, numbers without gaps, starts in order', () => {
    fc.assert(
      fc.property(schedules, steps, (schedule, life) => {
        const task = taskOf(schedule);
        let ledger = none;
        let fromMs: number | undefined;
        let nowMs = created;
        const starts: number[] = [];
        for (const { seconds, away, event } of life) {
          if (event === 'settles') fromMs ??= nowMs;
          if (event === 'ends') fromMs = undefined;
          const endMs = nowMs + seconds * second;
          if (away) nowMs = endMs;
          for (let guard = 0; nowMs <= endMs; guard++) {
            expect(guard).toBeLessThan(1_000);
            const plan = planRound(task, ledger, at(nowMs, { fromMs }));
            if (plan.do === 'wait') {
              if (fromMs === undefined) expect(['no-runtime', 'finished']).toContain(plan.why);
              nowMs = Math.max(nowMs + 1, Math.min(plan.untilMs ?? endMs + 1, endMs + 1));
              continue;
            }
            expect(fromMs).toBeDefined();
            expect(plan.round.startMs).toBeGreaterThanOrEqual(fromMs!);
            expect(plan.round.number).toBe(starts.length + 1);
            starts.push(plan.round.startMs);
            ledger = plan.round.ledger;
          }
        }
        expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });
});

describe('random lives of a task', () => {
  const schedules: fc.Arbitrary<Task['spec']['schedule'] & { roundNumber: number }> = fc.oneof(
    fc.record({ schedule: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 5 })).map(([m, n]) => `${m} ${n}`), roundNumber: fc.constantFrom(-1, 1, 3, 30) }),
    fc.record({ intervalSeconds: fc.integer({ min: 5, max: 300 }), startAfterSeconds: fc.integer({ min: 0, max: 100 }), roundNumber: fc.constantFrom(-1, 1, 3, 30) }),
    fc.record({ schedule: fc.constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '13,14,59 * * * *', '* 12 * * *'), roundNumber: fc.constantFrom(-1, 1, 5) }),
    fc.constant({ roundNumber: 1 }),
  );
  const steps = fc.array(
    fc.record({
      /** Seconds that pass; the scheduler looks at each of its own timers within them unless it is away. */
      seconds: fc.integer({ min: 1, max: 1500 }),
      away: fc.boolean(),
      /** Seconds after its start when the reporter closes the open round. */
      closesAfter: fc.integer({ min: 1, max: 400 }),
      runners: fc.boolean(),
      event: fc.constantFrom('none', 'none', 'none', 'run-now', 'suspend', 'resume'),
    }),
    { minLength: 1, maxLength: 30 },
  );

  it('never two open rounds, numbers without gaps, starts on the grid, never stuck', () => {
    fc.assert(
      fc.property(schedules, steps, (schedule, life) => {
        let task = taskOf(schedule);
        const timeoutMs = roundTimeoutMs(schedule);
        const rounds: Round[] = [];
        let closesAtMs = 0;
        let changedMs: number | undefined;
        let asked = 0;
        let nowMs = created;
        const close = (): void => {
          for (const round of rounds) if (isOpenRound(round) && nowMs >= closesAtMs) round.status = { state: 'succeed' };
        };
        const onGrid = (startMs: number): boolean => startMs === firstStart(schedule, created) || nextStart(schedule, created, startMs - 1) === startMs;

        const look = (ready: boolean, closesAfter: number): Plan => {
          for (let guard = 0; ; guard++) {
            expect(guard).toBeLessThan(40);
            close();
            const open = rounds.filter(isOpenRound);
            expect(open.length).toBeLessThanOrEqual(1);
            const plan = planRound(task, ledgerOf(task, rounds), { nowMs, openRound: open.length > 0, fromMs: created, ready, changedMs });
            if (plan.do === 'wait') {
              if (plan.untilMs !== undefined) expect(plan.untilMs).toBeGreaterThan(nowMs);
              return plan;
            }
            const { round } = plan;
            expect(round.number).toBe(rounds.length + 1);
            if (round.trigger === 'schedule') {
              expect(round.startMs).toBeLessThanOrEqual(nowMs + defaultPlanSettings.leadMs);
              expect(round.startMs).toBeGreaterThan(nowMs - timeoutMs);
            }
            if (round.trigger === 'missed') expect(round.deadlineMs).toBeLessThan(nowMs + timeoutMs);
            if (round.trigger !== 'run-now' && 'roundNumber' in schedule && (Object.keys(schedule).length > 1)) expect(onGrid(round.startMs)).toBe(true);
            rounds.push(objectOf(task, round));
            closesAtMs = Math.min(round.deadlineMs, nowMs + closesAfter * second);
          }
        };

        let missedInOneGo = 0;
        for (const { seconds, away, closesAfter, runners, event } of life) {
          if (event === 'run-now') task = { ...task, metadata: { ...task.metadata, annotations: { [taskAnnotations.runNow]: `v${++asked}` } } };
          if (event === 'suspend' || event === 'resume') {
            const suspend = event === 'suspend';
            if (suspend !== task.spec.suspend) {
              task = { ...task, spec: { ...task.spec, suspend }, metadata: { ...task.metadata, generation: task.metadata.generation + 1 } };
              changedMs = away ? undefined : nowMs;
            }
          }
          const endMs = nowMs + seconds * second;
          if (away) nowMs = endMs;
          while (nowMs < endMs) {
            const before = rounds.length;
            const plan = look(runners, closesAfter);
            missedInOneGo = Math.max(missedInOneGo, rounds.slice(before).filter(({ spec }) => spec.trigger === 'missed').length);
            const wakes = [endMs, nowMs + 60 * minute];
            if (plan.do === 'wait' && plan.untilMs !== undefined) wakes.push(plan.untilMs);
            if (rounds.some(isOpenRound)) wakes.push(Math.max(closesAtMs, nowMs + 1));
            nowMs = Math.min(...wakes);
          }
        }
        expect(missedInOneGo).toBeLessThanOrEqual(defaultPlanSettings.maxMissed);
        expect(rounds.map(({ spec }) => spec.number)).toEqual(rounds.map((_, index) => index + 1));
        const starts = rounds.filter(({ spec }) => spec.trigger !== 'run-now').map(({ spec }) => Date.parse(spec.startTime));
        expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
        // Never stuck: left alone with a runner, a task that has rounds left runs one within two intervals.
        nowMs = Math.max(nowMs, closesAtMs);
        if (task.spec.suspend) {
          task = { ...task, spec: { ...task.spec, suspend: false }, metadata: { ...task.metadata, generation: task.metadata.generation + 1 } };
          changedMs = nowMs;
        }
        const total = schedule.roundNumber;
        const scheduled = (): number => ledgerOf(task, rounds).scheduled;
        const before = scheduled();
        if (total < 0 || before < total) {
          const untilMs = nowMs + 26 * 60 * minute;
          while (nowMs < untilMs && scheduled() === before) {
            const plan = look(true, 1);
            nowMs = Math.max(nowMs + 1, Math.min(untilMs, plan.do === 'wait' && plan.untilMs !== undefined ? plan.untilMs : rounds.some(isOpenRound) ? closesAtMs : untilMs));
          }
          expect(scheduled()).toBeGreaterThan(before);
        }
      }),
      { numRuns: 300 },
    );
  });
});
