import { expect, it } from '@jest/globals';
import type { Seen } from '../gateway-client.ts';
import { runtimeProblems } from './ready.ts';

it('what the default runtime lacks is said once', () => {
  const message = '3 of 3 runners are ready, but not heard yet: a';
  const conditions = [
    { type: 'WorkloadReady', status: 'False', message },
    { type: 'ServicesReady', status: 'True', message: 'fine' },
    { type: 'Ready', status: 'False', message },
  ];
  expect(runtimeProblems({ metadata: { name: 'default' }, spec: { kind: 'DaemonSet' }, status: { phase: 'Degraded', conditions } } as unknown as Seen)).toEqual([`default runtime: ${message}`]);
});
