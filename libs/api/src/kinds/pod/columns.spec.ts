import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../meta.ts';
import { podColumns } from './columns.ts';
import type { ContainerStatus } from './container-status.ts';

const now = Date.parse('2026-01-02T03:10:00Z');
const status = (name: string, state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus => ({ name, state, lastState: {}, ready: state.running !== undefined, restartCount: 0, image: 'i', imageID: '', ...more });
const running = { running: { startedAt: '2026-01-02T03:00:00Z' } };
const exited = (exitCode: number, more: object = {}): ContainerStatus['state'] => ({ terminated: { exitCode, ...more } });
const waits = (reason?: string): ContainerStatus['state'] => ({ waiting: reason === undefined ? {} : { reason } });

interface Parts {
  status: object;
  containers?: number;
  init?: { name: string; restartPolicy?: 'Always' }[];
  metadata?: object;
  spec?: object;
}
function cells({ status: state, containers = 1, init = [], metadata = {}, spec = {} }: Parts): Record<string, unknown> {
  const pod = {
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', creationTimestamp: '2026-01-02T03:00:00Z', ...metadata }, status: state,
    spec: { containers: Array.from({ length: containers }, (_, index) => ({ name: `c${index}` })), initContainers: init, ...spec },
  } as unknown as KubeObject;
  return Object.fromEntries(podColumns.map((column) => [column.name, column.cell(pod, now)]));
}
const shown = (parts: Parts): string => {
  const { Ready, Status, Restarts } = cells(parts);
  return `${Ready} ${Status} ${Restarts}`;
};
const initialized = [{ type: 'Initialized', status: 'True' }];

describe('status of a pod, as kubectl shows it', () => {
  it.each<[string, Parts, string]>([
    ['that waits', { status: { phase: 'Pending' } }, '0/1 Pending 0'],
    ['with a gate', { status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] } }, '0/1 SchedulingGated 0'],
    ['that was evicted', { status: { phase: 'Failed', reason: 'Evicted' } }, '0/1 Evicted 0'],
    ['that is made', { status: { phase: 'Pending', containerStatuses: [status('c0', waits('ContainerCreating'))] } }, '0/1 ContainerCreating 0'],
    ['that runs', { status: { phase: 'Running', containerStatuses: [status('c0', running)] } }, '1/1 Running 0'],
    ['that runs and is not ready', { status: { phase: 'Running', containerStatuses: [status('c0', running, { ready: false })] } }, '0/1 Running 0'],
    ['whose first container has the trouble', { containers: 2, status: { phase: 'Running', containerStatuses: [status('c0', waits('CrashLoopBackOff')), status('c1', waits('ImagePullBackOff'))] } }, '0/2 CrashLoopBackOff 0'],
    ['that is done', { status: { phase: 'Succeeded', containerStatuses: [status('c0', exited(0, { reason: 'Completed' }))] } }, '0/1 Completed 0'],
    ['that failed without a reason', { status: { phase: 'Failed', containerStatuses: [status('c0', exited(3))] } }, '0/1 ExitCode:3 0'],
    ['that a signal ended', { status: { phase: 'Failed', containerStatuses: [status('c0', exited(137, { signal: 9 }))] } }, '0/1 Signal:9 0'],
    ['of which one container is done and one runs, ready', { containers: 2, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [status('c0', exited(0, { reason: 'Completed' })), status('c1', running)] } }, '1/2 Running 0'],
    ['of which one container is done and one runs, not ready', { containers: 2, status: { phase: 'Running', containerStatuses: [status('c0', exited(0, { reason: 'Completed' })), status('c1', running)] } }, '1/2 NotReady 0'],
  ])('%s', (_what, parts, expected) => expect(shown(parts)).toBe(expected));

  it.each<[string, Parts, string]>([
    ['starts', { init: [{ name: 'a' }, { name: 'b' }], status: { phase: 'Pending', initContainerStatuses: [status('a', exited(0)), status('b', running)] } }, '0/1 Init:1/2 0'],
    ['waits for its turn', { init: [{ name: 'a' }], status: { phase: 'Pending', initContainerStatuses: [status('a', waits('PodInitializing'))] } }, '0/1 Init:0/1 0'],
    ['cannot be pulled', { init: [{ name: 'a' }], status: { phase: 'Pending', initContainerStatuses: [status('a', waits('ErrImagePull'))] } }, '0/1 Init:ErrImagePull 0'],
    ['fails with a reason', { init: [{ name: 'a' }], status: { phase: 'Pending', initContainerStatuses: [status('a', exited(1, { reason: 'Error' }), { restartCount: 2 })] } }, '0/1 Init:Error 2'],
    ['fails without one', { init: [{ name: 'a' }], status: { phase: 'Pending', initContainerStatuses: [status('a', exited(7))] } }, '0/1 Init:ExitCode:7 0'],
    ['is done', { init: [{ name: 'a' }], status: { phase: 'Running', conditions: initialized, initContainerStatuses: [status('a', exited(0), { restartCount: 3 })], containerStatuses: [status('c0', running, { restartCount: 1 })] } }, '1/1 Running 1'],
    ['is a sidecar that runs', { init: [{ name: 's', restartPolicy: 'Always' }], status: { phase: 'Running', conditions: initialized, initContainerStatuses: [status('s', running, { started: true, restartCount: 2 })], containerStatuses: [status('c0', running)] } }, '2/2 Running 2'],
    ['is a sidecar that has not started', { init: [{ name: 's', restartPolicy: 'Always' }], status: { phase: 'Pending', initContainerStatuses: [status('s', running, { started: false })] } }, '0/2 Init:0/1 0'],
  ])('whose init container %s', (_what, parts, expected) => expect(shown(parts)).toBe(expected));

  it('is Terminating while it ends, Unknown on a lost node, and what it was when it has ended', () => {
    const metadata = { deletionTimestamp: '2026-01-02T03:10:00Z' };
    expect(shown({ metadata, status: { phase: 'Running', containerStatuses: [status('c0', running)] } })).toBe('1/1 Terminating 0');
    expect(shown({ metadata, status: { phase: 'Running', reason: 'NodeLost' } })).toBe('0/1 Unknown 0');
    expect(shown({ metadata, status: { phase: 'Failed', containerStatuses: [status('c0', exited(1, { reason: 'Error' }))] } })).toBe('0/1 Error 0');
  });

  it('tells how long ago it was last started again', () => {
    const last = (finishedAt: string): Partial<ContainerStatus> => ({ restartCount: 2, lastState: exited(1, { finishedAt }) });
    const containerStatuses = [status('c0', running, last('2026-01-02T03:05:00Z')), status('c1', running, last('2026-01-02T03:04:00Z'))];
    expect(shown({ containers: 2, status: { phase: 'Running', containerStatuses } })).toBe('2/2 Running 4 (5m ago)');
  });
});

it('the wide columns name what is not there', () => {
  expect(cells({ status: {} })).toMatchObject({ Age: '10m', IP: '<none>', Node: '<none>', 'Nominated Node': '<none>', 'Readiness Gates': '<none>' });
  const gates = { readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }], nodeName: 'n' };
  expect(cells({ spec: gates, status: { podIPs: [{ ip: '10.0.0.1' }], conditions: [{ type: 'a', status: 'True' }] } })).toMatchObject({ IP: '10.0.0.1', Node: 'n', 'Readiness Gates': '1/2' });
  expect(podColumns.filter(({ priority }) => priority === 0).map(({ name }) => name)).toEqual(['Name', 'Ready', 'Status', 'Restarts', 'Age']);
});
