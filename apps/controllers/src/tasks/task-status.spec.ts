import { describe, expect, it } from '@jest/globals';
import { roundAnnotations, taskAnnotations, taskStatusSchema, type AnyTask, type Round, type RoundStatus, type Runtime, type TaskStatus, type VerdictState } from '@roundsman/api';
import * as fc from 'fast-check';
import type { Carrier } from './carrier.ts';
import { goDuration, statusChangesAtMs, taskStatusOf } from './task-status.ts';

const minute = 60_000;
const created = Date.UTC(2026, 0, 1, 12);
const iso = (ms: number): string => new Date(ms).toISOString();
const taskOf = (extra: { schedule?: object; suspend?: boolean; annotations?: Record<string, string>; status?: TaskStatus; generation?: number } = {}): AnyTask => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name: 't', namespace: 'default', uid: 'uid', resourceVersion: '1', generation: extra.generation ?? 1, creationTimestamp: iso(created), annotations: extra.annotations ?? {} },
  spec: { suspend: extra.suspend ?? false, schedule: { schedule: '0 1', roundNumber: 3, ...extra.schedule }, request: { durationInSecond: 1, qps: 1, perRequestTimeoutInMS: 100 } },
  ...(extra.status === undefined ? {} : { status: extra.status }),
});
const roundOf = (number: number, state: RoundStatus['state'] | undefined, extra: Partial<Round['spec']> & { annotations?: Record<string, string>; startMs?: number } = {}): Round => {
  const { annotations, startMs = created + (number - 1) * minute, ...spec } = extra;
  return {
    apiVersion: 'roundsman.io/v1',
    kind: 'Round',
    metadata: {
      name: `r-${number}`, namespace: 'default', uid: `r-${number}`, resourceVersion: '1', generation: 1, creationTimestamp: iso(startMs),
      annotations: { [roundAnnotations.scheduled]: String(number), [roundAnnotations.lastScheduledStart]: iso(startMs), ...annotations },
    },
    spec: {
      taskRef: { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: 't', uid: 'uid', generation: 1 },
      number, startTime: iso(startMs), deadline: iso(startMs + minute), taskSpec: {}, trigger: 'schedule',
      runners: [{ runner: 'a', node: 'node-1' }, { runner: 'b', node: 'node-2' }],
      ...spec,
    },
    ...(state === undefined ? {} : { status: { state, ...(state === 'ongoing' ? {} : { closedAt: iso(startMs + 2_500), summary: `it is ${state}`, succeeded: ['node-1'], failed: ['node-2'], missing: [] }) } }),
  };
};
const carrier: Carrier = { own: false, runtime: { apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name: 'default', namespace: 'roundsman-system' }, spec: { kind: 'Process', families: [], ingress: false }, status: { phase: 'Ready', settledAt: iso(created), ready: 3, conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '' }] } } as unknown as Runtime, name: 'default', refused: false };
const patience = { runtimeWaitMs: 60_000, noRunnerWaitMs: 30_000 };
const statusOf = (task: AnyTask, rounds: Round[], nowMs: number): TaskStatus => taskStatusSchema.parse(taskStatusOf(task, rounds, carrier, nowMs, patience));
const conditions = (status: TaskStatus): Record<string, string> => Object.fromEntries((status.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]));

describe('status of a task', () => {
  it('with a schedule that cannot work says so, and keeps what is known', () => {
    const status = statusOf(taskOf({ schedule: { schedule: undefined, startAfterSeconds: 9e15 }, generation: 4 }), [roundOf(1, 'succeed')], created + minute);
    expect(conditions(status)).toMatchObject({ Scheduled: 'False InvalidSchedule', Complete: 'False RoundsLeft', Healthy: 'True RoundSucceeded' });
    expect(status.conditions?.[0]?.message).toMatch(/^spec\.schedule\.startAfterSeconds must be a whole number of seconds from 0 to 31622400/);
    expect(status).toMatchObject({ observedGeneration: 4, finish: false, history: [{ roundNumber: 1, status: 'succeed' }] });
  });

  it('before the first round', () => {
    const status = statusOf(taskOf({ schedule: { schedule: '5 1' } }), [], created + 1000);
    expect(status).toMatchObject({ expectedRound: 3, doneRound: 0, finish: false, nextRoundTime: '2026-01-01T12:05:00Z', history: [] });
    expect(conditions(status)).toEqual({ Scheduled: 'True RoundScheduled', RuntimeReady: 'True RuntimeReady', Progressing: 'False Waiting', Complete: 'False RoundsLeft', Healthy: 'Unknown NoRoundYet', Suspended: 'False NotSuspended' });
  });

  it('says what a round that is due waits for, never that it is about to start', () => {
    const scheduledOf = (task: AnyTask, by: Carrier, nowMs: number): string => {
      const { reason, message } = taskStatusOf(task, [], by, nowMs, patience).conditions!.find(({ type }) => type === 'Scheduled')!;
      return `${reason}: ${message}`;
    };
    const runtimeWith = (status: object): Carrier => ({ ...carrier, own: true, runtime: { ...carrier.runtime!, spec: { kind: 'DaemonSet' }, status } as unknown as Runtime });
    const lacking = { type: 'Ready', status: 'False', message: 'No node fits spec.agentSpec.affinity, so there is no runner.' };
    expect(scheduledOf(taskOf(), runtimeWith({ conditions: [lacking] }), created + 1_000)).toMatch(/^WaitingForRuntime: Round 1 waits for its runtime to be ready, for 60 s at the most, once its workload is made \(.*_RUNTIME_WAIT_MS\): No node fits/);
    expect(scheduledOf(taskOf(), runtimeWith({ waitsUntil: iso(created + minute), conditions: [lacking] }), created + 1_000)).toMatch(/^WaitingForRuntime: Round 1 waits for its runtime to be ready, until 2026-01-01T12:01:00Z at the latest \(.*_RUNTIME_WAIT_MS\): No node fits/);
    const settled = runtimeWith({ settledAt: iso(created + minute), ready: 0, conditions: [{ ...lacking, type: 'WorkloadReady' }] });
    expect(scheduledOf(taskOf(), settled, created + minute + 2_000)).toMatch(/^WaitingForRunner: Round 1, due at 2026-01-01T12:01:00Z, waits for a first ready runner, and begins without at 2026-01-01T12:01:30Z at the latest \(.*_NO_RUNNER_WAIT_MS\): No node fits/);
    const asked = { ...taskOf(), metadata: { ...taskOf().metadata, annotations: { 'roundsman.io/run-now': 'x' } } };
    expect(scheduledOf(asked, settled, created + minute + 2_000)).toMatch(/^WaitingForRunner: Round 1 waits for a first ready runner, and begins without 30 s after it was asked for at the latest /);
    const silent = runtimeWith({ settledAt: iso(created), ready: 1, conditions: [{ type: 'WorkloadReady', status: 'False', reason: 'RunnersSilent', message: '1 of 1 runners are ready, but not heard yet: a.' }] });
    expect(scheduledOf(taskOf(), silent, created + 2_000)).toMatch(/^WaitingForRunner: Round 1, due at 2026-01-01T12:00:00Z, waits for runners that are not heard yet, at 2026-01-01T12:00:30Z at the latest it begins without \(.*\): 1 of 1/);
    // Not before it is due.
    expect(scheduledOf(taskOf({ schedule: { schedule: '5 1' } }), settled, created + minute + 2_000)).toBe('RoundScheduled: The next round starts at 2026-01-01T12:06:00Z.');

    const dns = { ...taskOf(), kind: 'NetDNS', spec: { ...taskOf().spec, target: { targetDns: {} } } } as unknown as AnyTask;
    expect(scheduledOf(dns, carrier, created + 500)).toMatch(/^WaitingForTargets: Round 1, due at 2026-01-01T12:00:00Z, waits until it is known which DNS servers/);
    const looked = (status: string) => ({ ...dns, status: { conditions: [{ type: 'TargetsFound', status, reason: 'r', message: 'Service dns/missing does not exist.', lastTransitionTime: '', observedGeneration: 1 }] } }) as AnyTask;
    expect(scheduledOf(looked('False'), carrier, created + 500)).toMatch(/^WaitingForTargets: .* begins without at 2026-01-01T12:00:30Z at the latest .*: Service dns\/missing does not exist\.$/);
    expect(scheduledOf(looked('True'), carrier, created + 500)).toMatch(/^RoundScheduled/);
  });

  it('shows a round that is made ahead of its start as not started, and says when that changes', () => {
    const task = taskOf({ schedule: { schedule: '1 1' } });
    const round = roundOf(1, undefined, { startMs: created + minute });
    const before = statusOf(task, [round], created + minute - 300);
    expect(before.history?.[0]).toMatchObject({ roundNumber: 1, status: 'notstarted', expectedActorNumber: 2 });
    expect(statusChangesAtMs({ ...task, status: before }, [round], created + minute - 300)).toBe(created + minute);
    const running = statusOf(task, [round], created + minute);
    expect(running.history?.[0]?.status).toBe('ongoing');
    expect(conditions(running)).toMatchObject({ Progressing: 'True RoundRunning' });
  });

  it('while the second of three runs', () => {
    const status = statusOf(taskOf(), [roundOf(1, 'succeed'), roundOf(2, 'ongoing')], created + minute + 500);
    expect(status).toMatchObject({ expectedRound: 3, doneRound: 1, finish: false, lastRoundStatus: 'succeed', nextRoundTime: '2026-01-01T12:02:00Z' });
    expect(status.history).toMatchObject([
      { roundNumber: 2, status: 'ongoing', startTimeStamp: '2026-01-01T12:01:00Z', deadLineTimeStamp: '2026-01-01T12:02:00Z' },
      { roundNumber: 1, status: 'succeed', endTimeStamp: '2026-01-01T12:00:02Z', duration: '2.5s', succeedAgentNodeList: ['node-1'], failedAgentNodeList: ['node-2'], notReportAgentNodeList: [] },
    ]);
    expect(conditions(status)).toMatchObject({ Progressing: 'True RoundRunning', Healthy: 'True RoundSucceeded' });
  });

  it('when all rounds are done, the last one failed', () => {
    const status = statusOf(taskOf(), [roundOf(1, 'succeed'), roundOf(2, 'missed', { trigger: 'missed', runners: [] }), roundOf(3, 'fail')], created + 3 * minute);
    expect(status).toMatchObject({ expectedRound: 3, doneRound: 3, finish: true, finishTime: '2026-01-01T12:02:02Z', lastRoundStatus: 'fail' });
    expect(status).not.toHaveProperty('nextRoundTime');
    expect(status.history?.map(({ roundNumber, status: state, failureReason }) => [roundNumber, state, failureReason])).toEqual([
      [3, 'fail', 'it is fail'], [2, 'fail', 'missed: its time passed while nothing could run it'], [1, 'succeed', undefined],
    ]);
    expect(conditions(status)).toEqual({ Scheduled: 'False Finished', RuntimeReady: 'True RuntimeReady', Progressing: 'False Finished', Complete: 'True Finished', Healthy: 'False RoundFailed', Suspended: 'False NotSuspended' });
  });

  it('is healthy only by a verdict that says so: a round that succeeded under a starved prober is not', () => {
    const healthOf = (state: 'succeed' | 'fail', verdict: VerdictState, notTested?: string[]): string | undefined => {
      const round = roundOf(1, state);
      if (notTested !== undefined) round.spec.notTested = notTested;
      round.status = { ...round.status!, verdict };
      return conditions(statusOf(taskOf(), [round], created + minute))['Healthy'];
    };
    expect([healthOf('succeed', 'healthy'), healthOf('succeed', 'suspect'), healthOf('fail', 'incomplete'), healthOf('fail', 'degraded'), healthOf('fail', 'broken')]).toEqual([
      'True Healthy', 'Unknown ProberStarved', 'Unknown RunnersMissing', 'False Degraded', 'False Broken',
    ]);
    expect(healthOf('succeed', 'incomplete', ['spec.target.ingress: no address'])).toBe('Unknown PartsNotTested');
  });

  it('counts extra rounds on top, and is not finished while one is asked for or runs', () => {
    const asked = taskOf({ schedule: { roundNumber: 1 }, annotations: { [taskAnnotations.runNow]: 'v' } });
    const first = roundOf(1, 'succeed');
    expect(statusOf(asked, [first], created + minute)).toMatchObject({ finish: false, expectedRound: 1, doneRound: 1 });
    const extra = (state: 'ongoing' | 'succeed') => roundOf(2, state, { trigger: 'run-now', annotations: { [roundAnnotations.scheduled]: '1', [roundAnnotations.runNow]: 'v' } });
    expect(statusOf(asked, [first, extra('ongoing')], created + minute)).toMatchObject({ finish: false, expectedRound: 2, doneRound: 1, handledRunNow: 'v' });
    expect(statusOf(asked, [first, extra('succeed')], created + 2 * minute)).toMatchObject({ finish: true, expectedRound: 2, doneRound: 2, handledRunNow: 'v' });
  });

  it('suspended: nothing is scheduled, the running round goes on', () => {
    const status = statusOf(taskOf({ suspend: true }), [roundOf(1, 'ongoing')], created + 100);
    expect(conditions(status)).toMatchObject({ Suspended: 'True Suspended', Scheduled: 'False Suspended', Progressing: 'True RoundRunning' });
    expect(status).not.toHaveProperty('nextRoundTime');
  });

  it('takes a cancel as handled when the open round ends by it, or none is open', () => {
    const task = taskOf({ annotations: { [taskAnnotations.cancel]: 'now' } });
    expect(statusOf(task, [roundOf(1, 'ongoing')], created)).not.toHaveProperty('handledCancel');
    expect(statusOf(task, [roundOf(1, 'ongoing', { cancel: true })], created)).toMatchObject({ handledCancel: 'now' });
    expect(statusOf(task, [roundOf(1, 'canceled')], created)).toMatchObject({ handledCancel: 'now', lastRoundStatus: 'canceled' });
  });

  it('keeps ten records, also of rounds whose objects are gone', () => {
    const task = taskOf({ schedule: { roundNumber: -1 } });
    const before = statusOf(task, Array.from({ length: 9 }, (_, index) => roundOf(index + 1, 'succeed')), created + 9 * minute);
    const status = statusOf({ ...task, status: before }, [roundOf(10, 'succeed'), roundOf(11, 'succeed')], created + 11 * minute);
    expect(status.history?.map(({ roundNumber }) => roundNumber)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    expect(status).toMatchObject({ expectedRound: -1, doneRound: 11, finish: false });
  });

  it('keeps the time of a condition while its status stays', () => {
    const task = taskOf();
    const first = statusOf(task, [], created + 1000);
    const later = statusOf({ ...task, status: first }, [roundOf(1, 'ongoing')], created + 5000);
    const time = (of: TaskStatus, type: string): string | undefined => of.conditions?.find((condition) => condition.type === type)?.lastTransitionTime;
    expect(time(later, 'Complete')).toBe('2026-01-01T12:00:01Z');
    expect(time(later, 'Progressing')).toBe('2026-01-01T12:00:05Z');
  });

  it('comes to rest: the same rows at the same time give the same status, whatever was written before', () => {
    const states = fc.constantFrom<RoundStatus['state'] | undefined>('succeed', 'fail', 'canceled', 'missed', 'ongoing', undefined);
    fc.assert(
      fc.property(fc.array(states, { maxLength: 14 }), fc.integer({ min: 0, max: 20 * minute }), fc.boolean(), fc.constantFrom(-1, 1, 5), (list, afterMs, suspend, roundNumber) => {
        const rounds = list.map((state, index) => roundOf(index + 1, state, state === 'missed' ? { trigger: 'missed' } : {}));
        const task = taskOf({ suspend, schedule: { roundNumber } });
        const once = statusOf(task, rounds, created + afterMs);
        const twice = statusOf({ ...task, status: once }, rounds, created + afterMs);
        expect(twice).toEqual(once);
        expect(once.doneRound).toBe(rounds.filter(({ spec, status }) => spec.trigger === 'missed' || !['ongoing', undefined].includes(status?.state)).length);
      }),
    );
  });

  it('writes durations as Go does', () => {
    expect([0, 40, 2_500, 60_000, 62_500, 3_600_000, 3_725_000].map(goDuration)).toEqual(['0s', '0.04s', '2.5s', '1m0s', '1m2.5s', '1h0m0s', '1h2m5s']);
  });
});
