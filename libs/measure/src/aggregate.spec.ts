import { describe, expect, it } from '@jest/globals';
import { aggregate, compareNames, matrix } from './aggregate.ts';
import { compareRounds } from './compare.ts';
import { resultOf } from './result-builder.ts';

const mesh = [
  { runner: 'r1', node: 'node-1', targets: [resultOf('endpoint/v4/node-2', { node: 'node-2', latenciesUs: [1000, 2000] }), resultOf('endpoint/v4/node-10', { node: 'node-10', failed: 2, error: 'refused' })] },
  { runner: 'r2', node: 'node-2', targets: [resultOf('endpoint/v4/node-1', { node: 'node-1', latenciesUs: [3000, 4000, 5000] })] },
];

describe('aggregate', () => {
  it('sums counts and merges distributions of all targets', () => {
    const sum = aggregate(mesh.flatMap((r) => r.targets));
    expect(sum).toMatchObject({ targets: 3, okTargets: 2, planned: 7, sent: 7, succeeded: 5, failed: 2, errors: { refused: 2 }, successRate: 5 / 7 });
    expect(sum.latency).toMatchObject({ count: 5, sumUs: 15_000, minUs: 1000, maxUs: 5000 });
    expect(sum.statusCodes).toEqual({ '200': 5 });
    expect(aggregate([])).toMatchObject({ targets: 0, successRate: 0 });
  });
});

describe('matrix', () => {
  it('has a cell for each measured pair of nodes, in natural order', () => {
    const { from, to, cells } = matrix(mesh);
    expect(from).toEqual(['node-1', 'node-2']);
    expect(to).toEqual(['node-1', 'node-2', 'node-10']);
    expect(cells.map((c) => [c.from, c.to, c.succeeded, c.planned])).toEqual([['node-1', 'node-2', 2, 2], ['node-1', 'node-10', 0, 2], ['node-2', 'node-1', 3, 3]]);
    expect(cells[0]!.meanUs).toBe(1500);
    expect(cells[1]!.p99Us).toBeUndefined();
    expect(compareNames('node-2', 'node-10')).toBeLessThan(0);
  });

  it('leaves out targets that live on no node', () => {
    expect(matrix([{ runner: 'r', node: 'n', targets: [resultOf('url', { latenciesUs: [1] })] }]).cells).toEqual([]);
  });
});

describe('compareRounds', () => {
  it('names what broke, recovered, appeared and disappeared', () => {
    const before = [{ runner: 'r1', node: 'n1', targets: [resultOf('a', { latenciesUs: [1000] }), resultOf('b', { failed: 1, error: 'timeout' }), resultOf('c', { latenciesUs: [1000] })] }];
    const now = [{ runner: 'r1', node: 'n1', targets: [resultOf('a', { failed: 1, error: 'reset' }), resultOf('b', { latenciesUs: [2000] }), resultOf('d', { latenciesUs: [2000] })] }];
    const comparison = compareRounds(now, before);
    expect(comparison.changes.map((c) => [c.target, c.change])).toEqual([['a', 'broke'], ['b', 'recovered'], ['c', 'disappeared'], ['d', 'appeared']]);
    expect(comparison.changes[0]!.reason).toContain('success rate 0');
    expect(comparison.successRateDelta).toBeCloseTo(0);
    expect(comparison.p50DeltaUs! / 1000).toBeCloseTo(1, 1);
    expect(comparison.p99Ratio).toBeCloseTo(2, 1);
  });

  it('compares no latencies where there are none', () => {
    const dead = [{ runner: 'r1', node: 'n1', targets: [resultOf('a', { failed: 1, error: 'timeout' })] }];
    expect(compareRounds(dead, dead)).toEqual({ successRateDelta: 0, changes: [] });
  });
});
