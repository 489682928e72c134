import { describe, expect, it } from '@jest/globals';
import type { Pod, PodSpecInput } from '@roundsman/api';
import type { Run } from '../containers/run.ts';
import { container, podOf, runOfName } from '../testing/runs.ts';
import type { ContainersView } from './container-statuses.ts';
import { podStatus, type PodStatusView } from './pod-status.ts';

const now = Date.UTC(2026, 0, 1, 0, 1);
type More = Partial<Omit<PodStatusView, 'containers'>> & { runs?: readonly Run[]; status?: Pod['status']; containers?: Partial<ContainersView> };
function statusOf(spec: PodSpecInput, { runs = [], status, containers = {}, ...more }: More = {}) {
  const pod = podOf(spec, status);
  const byName = new Map<string, Run[]>();
  for (const run of runs) byName.set(run.name, [...(byName.get(run.name) ?? []), run]);
  const up = new Set(runs.filter(({ state }) => state === 'running').map(({ name }) => name));
  return podStatus({
    pod,
    containers: { spec: pod.spec, runs: byName, starting: new Set(), waiting: new Map(), started: up, ready: up, lastWords: new Map(), stored: new Map((status?.containerStatuses ?? []).map((one) => [one.name, one])), ending: false, ...containers },
    sandbox: { running: true, addresses: ['10.0.0.5'] },
    over: false,
    verdict: undefined,
    hostIPs: ['192.0.2.1'],
    seenAt: now,
    now,
    ...more,
  });
}
const exited = (name: string, exitCode: number, more: Partial<Run> = {}): Run => runOfName(name, { state: 'exited', exitCode, finishedAt: 1_005_000, ...more });
const conditions = (status: ReturnType<typeof statusOf>): Record<string, string> => Object.fromEntries((status.conditions ?? []).map(({ type, status: holds, reason, message }) => [type, [holds, reason, message].filter(Boolean).join(' ')]));

describe('the status of a pod', () => {
  it('before anything runs', () => {
    const status = statusOf({ containers: [container('a')], initContainers: [container('i')] }, { sandbox: undefined });
    expect(status).toMatchObject({ phase: 'Pending', hostIP: '192.0.2.1', hostIPs: [{ ip: '192.0.2.1' }], startTime: '2026-01-01T00:01:00Z', qosClass: 'BestEffort' });
    expect(status).not.toHaveProperty('podIP');
    expect(status.containerStatuses).toEqual([{ name: 'a', state: { waiting: { reason: 'PodInitializing' } }, lastState: {}, ready: false, restartCount: 0, image: 'busybox:1.35', imageID: '', started: false }]);
    expect(conditions(status)).toEqual({
      PodReadyToStartContainers: 'False',
      Initialized: 'False ContainersNotInitialized containers with incomplete status: [i]',
      Ready: 'False ContainersNotReady containers with unready status: [a]',
      ContainersReady: 'False ContainersNotReady containers with unready status: [a]',
      PodScheduled: 'True',
    });
  });

  it('while it runs, and while one of it is not ready', () => {
    const spec = { containers: [container('a', { volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }] }), container('b')], volumes: [{ name: 'v', emptyDir: {} }] };
    const status = statusOf(spec, { runs: [runOfName('a'), runOfName('b')], containers: { ready: new Set(['a']) } });
    expect(status).toMatchObject({ phase: 'Running', podIP: '10.0.0.5', podIPs: [{ ip: '10.0.0.5' }] });
    expect(status.containerStatuses?.[0]).toEqual({
      name: 'a',
      state: { running: { startedAt: '1970-01-01T00:16:40Z' } },
      lastState: {},
      ready: true,
      started: true,
      restartCount: 0,
      image: 'busybox:1.35',
      imageID: 'sha256:1',
      containerID: 'docker://a-0',
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'Disabled' }],
    });
    expect(conditions(status)).toMatchObject({ Ready: 'False ContainersNotReady containers with unready status: [b]', Initialized: 'True' });
  });

  it('keeps the time of a condition that did not change, conditions of others, and waits for their gates', () => {
    const spec = { containers: [container('a')], readinessGates: [{ conditionType: 'example.org/gate' }] };
    const stored = [
      { type: 'Initialized', status: 'True' as const, lastTransitionTime: '2025-01-01T00:00:00Z' },
      { type: 'Ready', status: 'True' as const, lastTransitionTime: '2025-01-01T00:00:00Z' },
      { type: 'example.org/gate', status: 'False' as const },
    ];
    const status = statusOf(spec, { runs: [runOfName('a')], status: { conditions: stored } });
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Initialized', lastTransitionTime: '2025-01-01T00:00:00Z' }));
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady', lastTransitionTime: '2026-01-01T00:01:00Z' }));
    expect(status.conditions?.at(-1)).toEqual(stored[2]);
  });

  it('of what is started again: why it waits, and how it ended', () => {
    const waiting = new Map([['a', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
    const crashed = statusOf({ containers: [container('a')] }, { runs: [exited('a', 3, { attempt: 2 })], containers: { waiting, lastWords: new Map([['a-2', 'bye']]) } });
    expect(crashed.phase).toBe('Running');
    expect(crashed.containerStatuses?.[0]).toMatchObject({ restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'bye', finishedAt: '1970-01-01T00:16:45Z' } } });
    const again = statusOf({ containers: [container('a')] }, { runs: [runOfName('a', { attempt: 3 }), exited('a', 137, { attempt: 2, oomKilled: true })] });
    expect(again.containerStatuses?.[0]).toMatchObject({ restartCount: 3, state: { running: {} }, lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } });
    const starting = statusOf({ containers: [container('a')] }, { runs: [runOfName('a')], containers: { starting: new Set(['a']) } });
    expect(starting).toMatchObject({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }] });
    const failed = statusOf({ containers: [container('a')] }, { runs: [exited('a', 128, { startProblem: 'no such file' })] });
    expect(failed.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 128, reason: 'StartError', message: 'no such file' } });
  });

  it('when it has ended: by exit codes, by verdict, and for good', () => {
    const job = { restartPolicy: 'Never' as const, containers: [container('a'), container('b')] };
    expect(statusOf(job, { runs: [exited('a', 0), exited('b', 0)], over: true })).toMatchObject({ phase: 'Succeeded' });
    expect(conditions(statusOf(job, { runs: [exited('a', 0), exited('b', 0)], over: true }))).toMatchObject({ Ready: 'False PodCompleted', Initialized: 'True PodCompleted' });
    expect(statusOf(job, { runs: [exited('a', 0), exited('b', 1)], over: true })).toMatchObject({ phase: 'Failed' });
    expect(statusOf(job, { runs: [exited('a', 0), runOfName('b')] })).toMatchObject({ phase: 'Running' });
    const verdict = { reason: 'DeadlineExceeded', message: 'too long' };
    expect(statusOf(job, { runs: [runOfName('a'), runOfName('b')], verdict })).toMatchObject({ phase: 'Running', reason: 'DeadlineExceeded' });
    expect(statusOf(job, { runs: [exited('a', 0), exited('b', 0)], over: true, verdict })).toMatchObject({ phase: 'Failed', ...verdict });
    expect(statusOf(job, { runs: [], over: true, status: { phase: 'Failed', reason: 'Evicted', message: 'short of memory' } })).toMatchObject({ phase: 'Failed', reason: 'Evicted', message: 'short of memory' });
    const initFailed = { ...job, initContainers: [container('side', { restartPolicy: 'Always' as const }), container('i')] };
    expect(statusOf(initFailed, { runs: [runOfName('side'), exited('i', 1)] })).toMatchObject({ phase: 'Pending' });
    expect(statusOf(initFailed, { runs: [exited('side', 0), exited('i', 1)], over: true })).toMatchObject({ phase: 'Failed' });
    expect(statusOf({ containers: [container('a')] }, { runs: [exited('a', 0)], over: true })).toMatchObject({ phase: 'Succeeded' });
  });

  it('has a class of service', () => {
    const limits = { cpu: '1', memory: '1Gi' };
    expect(statusOf({ containers: [container('a', { resources: { limits } })] }).qosClass).toBe('Guaranteed');
    expect(statusOf({ containers: [container('a', { resources: { limits, requests: { cpu: '500m' } } })] }).qosClass).toBe('Burstable');
    expect(statusOf({ containers: [container('a', { resources: { limits } }), container('b')] }).qosClass).toBe('Burstable');
  });
});
