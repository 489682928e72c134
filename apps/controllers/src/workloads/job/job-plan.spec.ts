import { describe, expect, it } from '@jest/globals';
import { isPodActive, isPodEnded, type JobSpec, type Pod } from '@roundsman/api';
import * as fc from 'fast-check';
import { formatIndexes, withIndexes } from './index-set.ts';
import { indexOf, isTracked } from './job-pods.ts';
import { JobWorld } from './testing/job-world.ts';

const second = 1_000;

/** Looks until nothing more is written. */
function settle(world: JobWorld): string[] {
  const steps: string[] = [];
  for (let looks = 0; looks < 50; looks++) {
    const before = JSON.stringify([world.job.status, world.all()]);
    steps.push(...world.look());
    if (JSON.stringify([world.job.status, world.all()]) === before) return steps;
  }
  throw new Error('the job never comes to rest');
}
const active = (world: JobWorld): Pod[] => world.all().filter(isPodActive);
const endAll = (world: JobWorld, exitCode: number): void => active(world).forEach(({ metadata }) => world.end(metadata.name, exitCode));
const conditions = (world: JobWorld): string[] => (world.job.status?.conditions ?? []).filter(({ status }) => status === 'True').map(({ type, reason }) => `${type}=${reason}`);

describe('a job', () => {
  it('runs as many pods at a time as it may, until enough have succeeded', () => {
    const world = new JobWorld({ parallelism: 2, completions: 3 });
    settle(world);
    expect(world.job.status).toMatchObject({ active: 2, ready: 0, terminating: 0, startTime: '2026-01-01T00:00:00Z', uncountedTerminatedPods: {} });
    expect(active(world).every(isTracked)).toBe(true);
    endAll(world, 0);
    settle(world);
    expect(world.job.status).toMatchObject({ active: 1, succeeded: 2 });
    endAll(world, 0);
    settle(world);
    expect(world.job.status).toEqual({
      conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods', lastProbeTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' })),
      startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:00Z', succeeded: 3, ready: 0, terminating: 0, uncountedTerminatedPods: {},
    });
    expect(world.all().some(isTracked)).toBe(false);
  });

  it('without completions is done with the first success and the end of the others', () => {
    const world = new JobWorld({ parallelism: 3 });
    settle(world);
    world.end(active(world)[0]!.metadata.name, 0);
    settle(world);
    expect([world.finished, active(world).length]).toEqual([undefined, 2]);
    endAll(world, 1);
    settle(world);
    expect([world.finished, world.job.status?.succeeded, world.job.status?.failed]).toEqual(['Complete', 1, 2]);
  });

  it('waits 10 s, 20 s, 40 s ... six minutes between failures, and anew after a success', () => {
    const world = new JobWorld({ completions: 50, backoffLimit: 20 });
    const waits: number[] = [];
    for (let failure = 0; failure < 8; failure++) {
      settle(world);
      endAll(world, 1);
      settle(world);
      for (waits.push(0); active(world).length === 0; world.nowMs += second) {
        settle(world);
        if (active(world).length === 0) waits[failure]! += 1;
      }
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 360, 360]);
    endAll(world, 0);
    world.nowMs += second;
    settle(world);
    expect(active(world)).toHaveLength(1);
    endAll(world, 1);
    settle(world);
    world.nowMs += 10 * second;
    settle(world);
    expect(active(world)).toHaveLength(1);
  });

  it('fails beyond its back-off limit, and only when all of its pods have ended', () => {
    const world = new JobWorld({ parallelism: 3, completions: 3, backoffLimit: 1 });
    settle(world);
    const [one, two, three] = active(world).map(({ metadata }) => metadata.name);
    world.end(one!, 1);
    world.end(two!, 1);
    settle(world);
    expect([conditions(world), world.finished, world.job.status?.terminating]).toEqual([['FailureTarget=BackoffLimitExceeded'], undefined, 1]);
    world.end(three!, 137);
    settle(world);
    expect([conditions(world), world.job.status?.failed, world.job.status?.completionTime]).toEqual([['FailureTarget=BackoffLimitExceeded', 'Failed=BackoffLimitExceeded'], 3, undefined]);
  });

  it('counts restarts in place towards the limit', () => {
    const world = new JobWorld({ backoffLimit: 2, template: { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'main', image: 'x' }] } } as unknown as JobSpec['template'] });
    settle(world);
    const [pod] = active(world);
    world.put({ ...pod!, status: { phase: 'Running', containerStatuses: [{ name: 'main', restartCount: 2 }] } } as unknown as Pod);
    settle(world);
    expect(conditions(world)).toEqual(['FailureTarget=BackoffLimitExceeded']);
  });

  it('begins its active time anew when it is resumed, also when it had run longer before', () => {
    const world = new JobWorld({ activeDeadlineSeconds: 30 });
    settle(world);
    world.nowMs += 20 * second;
    world.job = { ...world.job, spec: { ...world.job.spec, suspend: true } };
    settle(world);
    world.nowMs += 60 * second;
    world.job = { ...world.job, spec: { ...world.job.spec, suspend: false } };
    settle(world);
    expect([conditions(world), world.job.status?.startTime]).toEqual([[], '2026-01-01T00:01:20Z']);
  });

  it('is ended by its deadline, which does not run while it is suspended', () => {
    const world = new JobWorld({ activeDeadlineSeconds: 30, suspend: true });
    settle(world);
    expect([conditions(world), world.job.status?.startTime, active(world).length]).toEqual([['Suspended=JobSuspended'], undefined, 0]);
    world.nowMs += 60 * second;
    world.job = { ...world.job, spec: { ...world.job.spec, suspend: false } };
    settle(world);
    expect([conditions(world), world.job.status?.startTime, active(world).length]).toEqual([[], '2026-01-01T00:01:00Z', 1]);
    world.job = { ...world.job, spec: { ...world.job.spec, suspend: true } };
    settle(world);
    endAll(world, 137);
    for (const pod of world.all()) world.end(pod.metadata.name, 137);
    settle(world);
    expect([world.job.status?.failed, active(world).length]).toEqual([undefined, 0]);
    world.job = { ...world.job, spec: { ...world.job.spec, suspend: false } };
    settle(world);
    world.nowMs += 30 * second;
    settle(world);
    for (const pod of world.all()) world.end(pod.metadata.name, 137);
    settle(world);
    expect(conditions(world)).toEqual(['FailureTarget=DeadlineExceeded', 'Failed=DeadlineExceeded']);
  });

  it('gives every pod an index, and tries an index again that failed', () => {
    const world = new JobWorld({ completionMode: 'Indexed', parallelism: 3, completions: 4 });
    settle(world);
    const [zero, one, two] = active(world);
    expect([zero, one, two].map((pod) => pod && indexOf(pod, world.job))).toEqual([0, 1, 2]);
    expect(one).toMatchObject({ metadata: { name: expect.stringMatching(/^work-1-[a-z2-9]{5}$/), labels: { 'batch.kubernetes.io/job-completion-index': '1' } }, spec: { hostname: 'work-1', containers: [{ env: [{ name: 'JOB_COMPLETION_INDEX' }] }] } });
    world.end(zero!.metadata.name, 0);
    world.end(two!.metadata.name, 0);
    world.nowMs += second;
    world.end(one!.metadata.name, 1);
    settle(world);
    expect([world.job.status?.completedIndexes, world.job.status?.succeeded, active(world).length]).toEqual(['0,2', 2, 0]);
    world.nowMs += 10 * second;
    settle(world);
    expect(active(world).map((pod) => indexOf(pod, world.job))).toEqual([1, 3]);
    endAll(world, 0);
    settle(world);
    expect([world.finished, world.job.status?.completedIndexes, world.job.status?.failed]).toEqual(['Complete', '0-3', 1]);
  });

  it('with a limit per index gives up indexes one by one, and fails when the others are done', () => {
    const world = new JobWorld({ completionMode: 'Indexed', parallelism: 2, completions: 2, backoffLimitPerIndex: 1, backoffLimit: 2 ** 31 - 1 });
    settle(world);
    const fail = (index: number): void => active(world).filter((pod) => indexOf(pod, world.job) === index).forEach(({ metadata }) => world.end(metadata.name, 1));
    fail(0);
    settle(world);
    world.nowMs += 10 * second;
    settle(world);
    expect(active(world).find((pod) => indexOf(pod, world.job) === 0)?.metadata.annotations).toMatchObject({ 'batch.kubernetes.io/job-index-failure-count': '1' });
    fail(0);
    settle(world);
    expect([world.job.status?.failedIndexes, world.finished, active(world).length]).toEqual(['0', undefined, 1]);
    endAll(world, 0);
    settle(world);
    expect([conditions(world).at(-1), world.job.status?.completedIndexes, world.job.status?.failed]).toEqual(['Failed=FailedIndexes', '1', 2]);
  });

  it('does what its failure policy says', () => {
    const rules = [
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ];
    const world = new JobWorld({ completions: 2, backoffLimit: 0, podFailurePolicy: { rules } as JobSpec['podFailurePolicy'] });
    settle(world);
    const [pod] = active(world);
    world.put({ ...pod!, status: { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True' }] } } as unknown as Pod);
    settle(world);
    expect([world.finished, world.job.status?.failed]).toEqual([undefined, undefined]);
    world.nowMs += 10 * second;
    settle(world);
    const { name } = active(world)[0]!.metadata;
    endAll(world, 42);
    settle(world);
    expect(conditions(world).at(-1)).toBe('Failed=PodFailurePolicy');
    expect(world.job.status?.conditions?.at(-1)?.message).toBe(`Container main for pod default/${name} failed with exit code 42 matching FailJob rule at index 0`);
  });

  it('replaces a pod that is being deleted at once, or when it has ended', () => {
    for (const [podReplacementPolicy, expected] of [['TerminatingOrFailed', 1], ['Failed', 0]] as const) {
      const world = new JobWorld({ podReplacementPolicy });
      settle(world);
      world.delete(active(world)[0]!.metadata.name);
      world.nowMs += 10 * second;
      settle(world);
      expect([podReplacementPolicy, active(world).length]).toEqual([podReplacementPolicy, expected]);
    }
  });

  it('may be done early by its success policy; what still runs then is ended and is no failure', () => {
    const world = new JobWorld({ completionMode: 'Indexed', parallelism: 3, completions: 3, successPolicy: { rules: [{ succeededIndexes: '0,2', succeededCount: 1 }] } });
    settle(world);
    world.end(active(world).find((pod) => indexOf(pod, world.job) === 2)!.metadata.name, 0);
    settle(world);
    expect([conditions(world), world.job.status?.terminating]).toEqual([['SuccessCriteriaMet=SuccessPolicy'], 2]);
    for (const pod of world.all()) world.end(pod.metadata.name, 143);
    settle(world);
    expect([world.finished, world.job.status?.completedIndexes]).toEqual(['Complete', '2']);
  });

  /** What may happen to a job between two writes of its controller. */
  const happening = fc.oneof(
    fc.record({ what: fc.constant('end' as const), which: fc.nat(9), exitCode: fc.constantFrom(0, 0, 1) }),
    fc.record({ what: fc.constant('delete' as const), which: fc.nat(9) }),
    fc.record({ what: fc.constant('steps' as const), count: fc.nat(7) }),
    fc.record({ what: fc.constant('time' as const), seconds: fc.nat(400) }),
  );
  const specs = fc.record({ parallelism: fc.integer({ min: 1, max: 4 }), completions: fc.integer({ min: 1, max: 6 }), backoffLimit: fc.nat(4), indexed: fc.boolean(), replacement: fc.constantFrom('Failed' as const, 'TerminatingOrFailed' as const) });

  it('never runs more pods than it may and counts every pod once, in whatever order they end and wherever its controller dies', () => {
    fc.assert(
      fc.property(specs, fc.array(happening, { maxLength: 60 }), ({ indexed, replacement, ...spec }, happenings) => {
        const world = new JobWorld({ ...spec, podReplacementPolicy: replacement, completionMode: indexed ? 'Indexed' : 'NonIndexed' });
        const check = (): void => expect(active(world).length).toBeLessThanOrEqual(spec.parallelism);
        for (const one of happenings) {
          const pods = world.all();
          const pod = 'which' in one && pods.length > 0 ? pods[one.which % pods.length] : undefined;
          if (one.what === 'end' && pod !== undefined) world.end(pod.metadata.name, one.exitCode);
          else if (one.what === 'delete' && pod !== undefined) world.delete(pod.metadata.name);
          else if (one.what === 'time') world.nowMs += one.seconds * second;
          // A look that ends after some of its writes: the controller died there.
          else if (one.what === 'steps') for (let look = world.look(), left = one.count; left > 0 && look.next().done !== true; left--) check();
          check();
        }
        for (let round = 0; world.finished === undefined && round < 60; round++) {
          settle(world);
          check();
          for (const pod of world.all()) world.end(pod.metadata.name, 0);
          world.nowMs += 400 * second;
        }
        const { status } = world.job;
        const ever = [...world.everMade.values()].filter(({ metadata }) => !world.surplus.has(metadata.uid));
        const succeeded = ever.filter((pod) => pod.status?.phase === 'Succeeded');
        expect(world.finished).toBeDefined();
        expect(status?.uncountedTerminatedPods).toEqual({});
        expect(world.all().some((pod) => isTracked(pod) || !isPodEnded(pod))).toBe(false);
        expect(world.finished).toBe((status?.succeeded ?? 0) >= spec.completions ? 'Complete' : 'Failed');
        // Every pod has ended one way or the other; one that was deleted counts as failed at once, even when it ends well after all.
        if (!indexed) expect((status?.succeeded ?? 0) + (status?.failed ?? 0)).toBe(ever.length);
        // One too many there is only where a deleted pod that was replaced early ended well after all.
        expect(world.surplus.size).toBeLessThanOrEqual(replacement === 'Failed' ? 0 : ever.filter((pod) => succeeded.includes(pod) && pod.metadata.deletionTimestamp !== undefined).length);
        if (!indexed && replacement === 'Failed' && world.finished === 'Complete') expect(status?.succeeded).toBe(succeeded.length);
        if (indexed && replacement === 'Failed' && world.finished === 'Complete') expect(status?.completedIndexes).toBe(formatIndexes(withIndexes([], succeeded.map((pod) => indexOf(pod, world.job)!))));
      }),
      { numRuns: 300 },
    );
  });
});
