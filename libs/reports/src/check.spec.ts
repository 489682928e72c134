import { describe, expect, it } from '@jest/globals';
import { roundResultSchema, type RoundResult } from '@roundsman/api';
import { roundResult, targetResult } from '@roundsman/testkit';
import { resultProblem } from './check.ts';

const good = (): RoundResult =>
  roundResult('runner-1', [
    targetResult('node-1'),
    targetResult('node-2', { failed: 3, ok: false, reason: 'too few', errors: { timeout: 3 }, failures: [{ at: '2026-11-21T10:00:00.500Z', code: 'timeout', message: 'no answer', latencyUs: 500_000 }] }),
  ]);

/** Sets the member at a path such as `targets.0.latency.count`. */
function withMember(path: string, value: unknown): unknown {
  const copy = structuredClone(good()) as unknown as Record<string, unknown>;
  const keys = path.split('.');
  let at = copy;
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>;
  at[keys.at(-1)!] = value;
  return copy;
}

describe('the check of result messages', () => {
  it('takes what the schema takes', () => {
    expect(roundResultSchema.safeParse(good()).success).toBe(true);
    expect(resultProblem(good())).toBeUndefined();
    const { outcome: _outcome, ...partial } = { ...good(), parts: 2 };
    expect(resultProblem(partial)).toBeUndefined();
  });

  it.each([
    ['runner', 7], ['node', ''], ['kind', 'Ping'], ['round', 0], ['round', 1.5], ['roundStart', 'yesterday'], ['part', 0], ['parts', 0], ['targets', {}], ['taskUid', 'a\0b'], ['taskUid', 'a b'], ['namespace', 'not a name'],
    ['namespace', ''], ['task', 'Big'], ['task', 'a.*'], ['runner', 'r>'], ['node', 'n'.repeat(254)],
    ['targets.0', null], ['targets.0.target', ''], ['targets.0.layer', 'wire'], ['targets.0.address', 1], ['targets.0.method', null], ['targets.0.targetNode', 3], ['targets.0.family', 'v5'],
    ['targets.0.startedAt', '10 o clock'], ['targets.0.endedAt', undefined], ['targets.0.planned', -1], ['targets.0.planned', 11], ['targets.0.sent', '10'], ['targets.0.failed', 1], ['targets.0.bytes', Number.NaN],
    ['targets.0.ok', 1], ['targets.0.reason', 5], ['targets.0.latency', undefined], ['targets.0.latency.count', 2 ** 31], ['targets.0.latency.sumUs', -1], ['targets.0.latency.histogram', []],
    ['targets.0.latency.histogram.b', [1]], ['targets.0.latency.histogram.b.0', 2001], ['targets.0.latency.histogram.b.0', 900], ['targets.0.latency.histogram.c.0', 0.5], ['targets.0.sendLag.histogram.c.0', 'x'],
    ['targets.0.phases', { warp: { count: 1, sumUs: 1, maxUs: 1 } }], ['targets.0.phases.connect.sumUs', null], ['targets.0.errors', { oops: 1 }], ['targets.0.errors', []], ['targets.0.statusCodes', { '200': -1 }],
    ['targets.0.replyCodes', { 'NO\0': 1 }], ['targets.1.failures', [{}]], ['targets.1.failures.0.at', 'then'], ['targets.1.failures.0.code', 'oops'],
    ['outcome.state', 'missing'], ['outcome.reason', 1], ['outcome.startedAt', ''], ['outcome.targetCount', -1], ['outcome.starvation', {}], ['outcome.runningLoad', null],
  ])('refuses %s = %j and says where', (path, value) => {
    const problem = resultProblem(withMember(path, value));
    expect(problem).toEqual(expect.any(String));
    // The innermost known name is in the sentence, so that a person finds the place.
    expect(problem).toMatch(new RegExp(path.startsWith('targets.') ? 'targets\\[\\d\\]' : path.split('.')[0]!));
  });

  it.each([null, 'text', 3, []])('refuses %j', (value) => {
    expect(resultProblem(value)).toBe('is not an object');
  });
});
