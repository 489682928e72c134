import { describe, expect, it } from '@jest/globals';
import { verdictSchema } from '@roundsman/api';
import { good, roundOf, type Cluster, type Probe } from '../testing/cluster.ts';
import type { ResultOptions } from '../testing/results.ts';
import type { RunnerOutcome } from './observation.ts';
import { verdictOf } from './verdict.ts';

const three: Cluster = { nodes: ['node-1', 'node-2', 'node-3'], families: ['v4'], layers: ['endpoint', 'clusterIP'], interfaces: [] };
const dead: ResultOptions = { failed: 2, error: 'connect-timeout' };
const at = (seconds: number): string => new Date(Date.parse('2026-01-02T03:04:00.000Z') + seconds * 1_000).toISOString();
/** Measured for 10 s, some of them from another second on. */
const timed = (runners: RunnerOutcome[], begins: Record<string, number>): RunnerOutcome[] =>
  runners.map((runner) => ({ ...runner, startedAt: at(begins[runner.node] ?? 0), endedAt: at((begins[runner.node] ?? 0) + 10) }));
const judged = (fault: (probe: Probe) => ResultOptions | undefined, begins: Record<string, number>, cluster = three) => verdictSchema.parse(verdictOf(timed(roundOf(cluster, fault), begins)));
const toTwo = ({ layer, to, from }: Probe): ResultOptions | undefined => (layer === 'endpoint' && to === 'node-2' && from !== to ? dead : undefined);
const another = 'The runner of node-2 began 27 s after the others: what it measured is of another time.';

describe('verdict of measurements of different times', () => {
  it('does not say which way is broken by what a node measured when the others had ended', () => {
    const verdict = judged(toTwo, { 'node-2': 27 });
    expect(verdict.findings).toMatchObject([{ code: 'node-unreachable', subject: 'node node-2', message: expect.stringContaining(another) }]);
    expect(verdict.summary).not.toContain('It answers on the node itself');
    expect(judged(toTwo, { 'node-2': 4 }).summary).toMatch(/It answers on the node itself, so the way to it is broken\.$/);
  });

  it('nor lets its success clear, or tell the way to, what was down for all the others', () => {
    expect(judged(({ layer, from }) => (layer === 'clusterIP' && from !== 'node-2' ? dead : undefined), { 'node-2': 27 }).findings.map(({ code }) => code)).toEqual(['service-down']);
    expect(judged(({ layer, to, from }) => (layer === 'endpoint' && to === 'node-1' && from === 'node-3' ? dead : undefined), { 'node-2': 27 }).findings.map(({ subject }) => subject)).toEqual(['path node-3 -> node-1']);
  });

  it('says so of what only that node found', () => {
    for (const [begins, words] of [[27, another], [-27, another.replace('after', 'before')], [6, another.replace('27', '6')]] as const) {
      const { findings } = judged(({ layer, from }) => (layer === 'clusterIP' && from === 'node-2' ? dead : undefined), { 'node-2': begins });
      expect(findings).toMatchObject([{ code: 'service-forwarding', message: expect.stringMatching(new RegExp(`${words}$`)) }]);
    }
  });

  it('takes no offence at another time by itself, nor at one of two', () => {
    expect(judged(() => good, { 'node-2': 27 }).state).toBe('healthy');
    const two = judged(toTwo, { 'node-2': 27 }, { ...three, nodes: ['node-1', 'node-2'] });
    expect(two.findings).toMatchObject([{ code: 'path-broken', subject: 'path node-1 -> node-2', message: expect.stringContaining(another) }]);
  });
});
