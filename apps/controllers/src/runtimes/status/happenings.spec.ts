import { expect, it } from '@jest/globals';
import type { Runtime, RuntimeStatus } from '@roundsman/api';
import { conditionsOf } from './conditions.ts';
import { runtimeHappening } from './happenings.ts';
import type { Observation } from './observation.ts';

const runtime = { spec: { kind: 'DaemonSet', workload: 'w', families: [], ingress: false } } as unknown as Runtime;

it.each(['Node a: its container ended with exit code 137 (OOMKilled)', '0/3 nodes are available: 3 Preemption is not helpful for scheduling.'])('what a runtime lacks is told in sentences of their own: %s', (lack) => {
  const status = { phase: 'Degraded', conditions: [{ type: 'Ready', status: 'False', message: `2 of 3 runners are ready. ${lack}` }] } as unknown as RuntimeStatus;
  expect(runtimeHappening(runtime, status)?.[2]).toBe(`DaemonSet w: 2 of 3 runners are ready. ${lack.replace(/\.$/, '')}. Rounds begin without what is missing.`);
});

it.each([
  [1, '1 of 1 runner is ready; it is a process that the agent of its node keeps.'],
  [2, '2 of 2 runners are ready; they are processes that the agents of the nodes keep.'],
])('%d runners are counted as people count', (count, words) => {
  const runners = Array.from({ length: count }, (_, index) => ({ metadata: { name: `r-${index}` }, status: { ready: true } }));
  const processes = { ...runtime, spec: { ...runtime.spec, kind: 'Process' } };
  const [workload, ready] = conditionsOf({ runtime: processes, runners, nowMs: 0, stale: 'Docker is slow' } as unknown as Observation, [], { services: [] } as never);
  expect([workload?.message, ready?.message]).toEqual([words, `${words} This may be old: Docker is slow`]);
});
