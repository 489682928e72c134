import { expect, it } from '@jest/globals';
import type { Runtime } from '@roundsman/api';
import { allEnds, containerEndsSince } from './runner-ends.ts';

it('tells of ends from the second on in which a round began, in words, and of none before', () => {
  const runtimes = [{ at: '2026-01-01T12:00:04Z', runner: 'before' }, { at: '2026-01-01T12:00:05Z', runner: 'in-that-second' }, { at: undefined, runner: 'lasting' }].map(
    ({ at, runner }) => ({ status: { runners: [{ runner, ...(at === undefined ? {} : { ended: { at, reason: 'exit code 139 (SIGSEGV)' } }) }] } }) as unknown as Runtime,
  );
  expect([...containerEndsSince([...runtimes, {} as Runtime], Date.parse('2026-01-01T12:00:05.700Z'), {})]).toEqual([
    ['in-that-second', { at: new Date('2026-01-01T12:00:05Z'), words: 'its container ended at 2026-01-01T12:00:05Z with exit code 139 (SIGSEGV)' }],
  ]);
});

it.each([
  [{}, '; give the task an agentSpec with a resources.limits.memory above 1Gi'],
  [{ agentSpec: { resources: { limits: { memory: '80Mi' } } } }, '; raise agentSpec.resources.limits.memory (now 80Mi)'],
  [undefined, ''],
])('names the limit of memory that one ran into, and what to raise: %j', (taskSpec, advice) => {
  const at = '2026-01-01T12:00:05Z';
  const runtime = { status: { runners: [{ runner: 'a', ended: { at, reason: 'exit code 137 (OOMKilled)' } }] } } as unknown as Runtime;
  const end = { at: new Date(at), words: `its container ended at ${at} with exit code 137 (OOMKilled)${advice}` };
  expect(containerEndsSince([runtime], Date.parse(at), taskSpec).get('a')).toEqual(end);
});

it('takes the words of a container and the time of the first end', () => {
  const end = (seconds: number, words: string) => ({ at: new Date(seconds * 1_000), words });
  const processes = new Map([['twice', end(10, 'process')], ['noticed-late', end(30, 'process')], ['process', end(5, 'process')]]);
  const containers = new Map([['twice', end(20, 'container')], ['noticed-late', end(29, 'container')], ['pod', end(7, 'container')]]);
  expect(Object.fromEntries(allEnds(processes, containers))).toEqual({ twice: end(10, 'container'), 'noticed-late': end(29, 'container'), process: end(5, 'process'), pod: end(7, 'container') });
});
