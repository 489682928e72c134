import type { ContainerInspectInfo } from 'dockerode';
import { expect, it } from '@jest/globals';
import { podContainer } from './inspection.ts';

it('a container that ended at once did not end before it started, whatever the daemon noted', () => {
  const [early, late] = ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.68Z'];
  const State = { Status: 'exited', Running: false, Restarting: false, Paused: false, OOMKilled: false, ExitCode: 3, Error: '', Pid: 0, StartedAt: late, FinishedAt: early };
  const inspected = { Id: 'id', Image: 'sha256:1', Created: early, Config: { Image: 'busybox:1.35', Labels: {} }, State } as unknown as ContainerInspectInfo;
  expect(podContainer(inspected)).toMatchObject({ state: 'exited', exitCode: 3, startedAt: late, finishedAt: late });
});
