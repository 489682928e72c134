import { describe, expect, it } from '@jest/globals';
import type { ContainerState, Pod } from '@roundsman/api';
import type { PodOnNode, RunOnNode } from './pods-on-node.ts';
import { loggedOf, podOf, runningOf } from './runs.ts';

const run = (id: string, state: RunOnNode['state']): RunOnNode => ({ id, state, startedAt: 0 });
const podWith = (state: ContainerState | undefined, ...runs: RunOnNode[]): PodOnNode => ({
  pod: { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, status: { containerStatuses: state === undefined ? [] : [{ name: 'main', state }] } } as unknown as Pod,
  runs: new Map(runs.length === 0 ? [] : [['main', runs]]),
});
const waiting = (reason: string): ContainerState => ({ waiting: { reason } });
const running: ContainerState = { running: {} };

describe('which run is meant', () => {
  it('the present one, or the one before', () => {
    const pod = podWith(running, run('second', 'running'), run('first', 'exited'));
    expect(loggedOf(pod, 'main', false).id).toBe('second');
    expect(loggedOf(pod, 'main', true).id).toBe('first');
  });

  it('the last one for both, while a container waits to run again', () => {
    const pod = podWith(waiting('CrashLoopBackOff'), run('second', 'exited'), run('first', 'exited'));
    expect(loggedOf(pod, 'main', false).id).toBe('second');
    expect(loggedOf(pod, 'main', true).id).toBe('second');
  });

  it('of a container that has ended for good: the last and the one before it', () => {
    const ended: ContainerState = { terminated: { exitCode: 0 } } as ContainerState;
    expect(loggedOf(podWith(ended, run('only', 'exited')), 'main', false).id).toBe('only');
    expect(() => loggedOf(podWith(ended, run('only', 'exited')), 'main', true)).toThrow('previous terminated container "main" in pod "web" not found');
  });

  it('none yet: says for what the container waits', () => {
    const why = (state: ContainerState | undefined): (() => void) => () => void loggedOf(podWith(state), 'main', false);
    expect(why(waiting('ContainerCreating'))).toThrow('container "main" in pod "web" is waiting to start: ContainerCreating');
    expect(why(waiting('ErrImagePull'))).toThrow('container "main" in pod "web" is waiting to start: image can\'t be pulled');
    expect(why(waiting('ImagePullBackOff'))).toThrow('container "main" in pod "web" is waiting to start: trying and failing to pull image');
    expect(why({} as ContainerState)).toThrow('container "main" in pod "web" is waiting to start - no logs yet');
    expect(why(undefined)).toThrow('container "main" in pod "web" is not available');
    expect(() => loggedOf(podWith(running, run('made', 'created')), 'main', false)).toThrow(expect.objectContaining({ code: 400 }) as unknown as Error);
  });

  it('for exec only one that runs', () => {
    expect(runningOf(podWith(running, run('first', 'running')), 'main').id).toBe('first');
    expect(() => runningOf(podWith(waiting('CrashLoopBackOff'), run('first', 'exited')), 'main')).toThrow('unable to upgrade connection: container not found ("main")');
  });

  it('never of another pod that has the name now', () => {
    const pods = { workers: new Map([['u1', podWith(running)]]) };
    expect(podOf(pods, { namespace: 'default', pod: 'web', podUid: 'u1' }).pod.metadata.uid).toBe('u1');
    for (const other of [{ podUid: 'u2' }, { pod: 'other' }, { namespace: 'other' }]) {
      expect(() => podOf(pods, { namespace: 'default', pod: 'web', podUid: 'u1', ...other })).toThrow(expect.objectContaining({ code: 404 }) as unknown as Error);
    }
  });
});
